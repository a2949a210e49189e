"""Memory of GPUs: the program's stream, the arrays of messages, and their copies on streams of this library."""

from __future__ import annotations

import sys
from collections import defaultdict
from typing import Any, NamedTuple

import numpy as np
from mpi4py import MPI

from .flat import BYTES, Flat
from .message import is_on_gpu, message_of

_DEFAULT = 4  # cudaMemcpyDefault: the addresses tell where both ends lie
SHORT_BYTES = 1 << 20  # most bytes of a copy that is waited for: to make and ask an event takes as long


def current_stream() -> Any:
    """CuPy's current stream."""
    import cupy

    return cupy.cuda.get_current_stream()


def mark() -> Any:
    """An event after all work of CuPy's current stream; None if the stream has no work."""
    import cupy

    stream = current_stream()
    if stream.done:
        return None
    event = cupy.cuda.Event(disable_timing=True)
    event.record(stream)
    return event


class Memory(NamedTuple):
    """The place of a message that is contiguous memory of a GPU."""

    address: int
    device: int
    n_bytes: int


def memory_of(spec: Any) -> Memory | None:
    """The memory of an argument; None if it is not contiguous memory of a GPU.  Raises LeftToMPI."""
    cupy = sys.modules.get("cupy")
    if cupy is None:
        return None
    if type(spec) is cupy.ndarray and spec.flags.c_contiguous:
        array = spec  # the usual case
    else:
        message = message_of(spec)
        if not message.element.is_dense or not is_on_gpu(message.buffer):
            return None
        array = Flat(True).source(message)
    start, n_bytes = array.data, array.nbytes
    return Memory(start.ptr, start.device_id, n_bytes) if n_bytes else None


def _new_stream() -> Any:
    import cupy

    return cupy.cuda.Stream(non_blocking=True)


# The streams of each device's copies: of those that begin at once, and of those that first wait for the program's work.
_streams = defaultdict[tuple[int, bool], Any](_new_stream)


def copied_to_host(memory: Memory) -> np.ndarray:
    """The bytes of a message once CuPy's current stream has run."""
    import cupy

    if cupy.cuda.runtime.getDevice() != memory.device:
        with cupy.cuda.Device(memory.device):
            return copied_to_host(memory)
    copy, stream = np.empty(memory.n_bytes, BYTES), current_stream()
    cupy.cuda.runtime.memcpyAsync(MPI.Get_address(copy), memory.address, memory.n_bytes, _DEFAULT, stream.ptr)
    stream.synchronize()
    return copy


def begin_copy(to: Memory | int, source: int, n_bytes: int, ready: Any = None) -> Any:
    """Begin a copy, on a stream of its own.  Returns an event after the copy; None if the copy has ended.

    to: memory of a GPU, or an address of the host;  ready: event that the copy waits for, or None
    """
    import cupy

    runtime = cupy.cuda.runtime
    if isinstance(to, Memory) and runtime.getDevice() != to.device:
        with cupy.cuda.Device(to.device):
            return begin_copy(to, source, n_bytes, ready)
    stream = _streams[runtime.getDevice(), ready is None]
    if ready is not None:
        stream.wait_event(ready)
    address = to.address if isinstance(to, Memory) else to
    runtime.memcpyAsync(address, source, n_bytes, _DEFAULT, stream.ptr)
    if ready is None and n_bytes <= SHORT_BYTES:
        return stream.synchronize()
    event = cupy.cuda.Event(disable_timing=True)
    event.record(stream)
    return event
