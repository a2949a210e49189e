"""Copies into and out of memory of GPUs, beside the streams of the program."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

from .flat import Flat
from .message import ELEMENTS, is_on_gpu, message_of


def current_stream() -> Any:
    """CuPy's current stream."""
    import cupy

    return cupy.cuda.get_current_stream()


def current_device() -> int:
    """The number of CuPy's current device."""
    import cupy

    return int(cupy.cuda.runtime.getDevice())


class Memory(NamedTuple):
    """A message that is one stretch of memory on a GPU."""

    address: int
    n_bytes: int
    device: int


def memory_of(spec: Any) -> Memory | None:
    """The memory of an argument of mpi4py, None where the message is another one.  Raises LeftToMPI."""
    cupy = sys.modules.get("cupy")
    if cupy and type(spec) is cupy.ndarray and spec.dtype in ELEMENTS and spec.flags.c_contiguous and spec.nbytes:
        return Memory(spec.data.ptr, spec.nbytes, spec.data.device_id)  # mostly so
    message = message_of(spec)
    if not message.n_bytes or not message.element.is_dense or not is_on_gpu(message.buffer):
        return None
    flat = Flat(True).source(message)
    return Memory(flat.data.ptr, flat.nbytes, flat.data.device_id)


def mark() -> Any:
    """An event after all work that CuPy's current stream has now; None where it has none."""
    import cupy

    stream = current_stream()
    if stream.done:
        return None
    event = cupy.cuda.Event(disable_timing=True)
    event.record(stream)
    return event


def begin_copy(device: int, to: int, source: int, n_bytes: int, after: Any = None) -> Callable[[], bool]:
    """Begin a copy, on a stream of its own.  Returns what says whether it has ended.  after: an event to wait for"""
    import cupy

    if cupy.cuda.runtime.getDevice() != device:
        with cupy.cuda.Device(device):
            return begin_copy(device, to, source, n_bytes, after)
    stream, events = _stream_of(device)
    if after is not None:
        stream.wait_event(after)
    ended = events.pop() if events else cupy.cuda.Event(disable_timing=True)
    cupy.cuda.runtime.memcpyAsync(to, source, n_bytes, cupy.cuda.runtime.memcpyDefault, stream.ptr)
    ended.record(stream)

    def has_ended() -> bool:
        if not ended.done:
            return False
        events.append(ended)
        return True

    return has_ended


@cache
def _stream_of(device: int) -> tuple[Any, list[Any]]:
    """The stream of a device's copies, which no work of the program stands in the way of, and events that are free."""
    import cupy

    return cupy.cuda.Stream(non_blocking=True), []
