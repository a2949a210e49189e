"""Streams of any library, by handle."""

from typing import Any

import cupy
from cuda.bindings import driver

_runtime = cupy.cuda.runtime
_current = cupy.cuda.get_current_stream


def handle(stream: Any) -> int:
    """The CUstream of a stream: CuPy, cuda.core, Numba, PyTorch; None is CuPy's current one.

    Raises TypeError for anything else.
    """
    if stream is None:
        return _current().ptr
    if isinstance(stream, cupy.cuda.Stream):
        return stream.ptr
    protocol = getattr(stream, "__cuda_stream__", None)
    if protocol is not None:
        return int(protocol()[1] if callable(protocol) else protocol[1])
    torch_handle = getattr(stream, "cuda_stream", None)
    if isinstance(torch_handle, int):
        return torch_handle
    raise TypeError(
        f"{type(stream).__name__} is not a CUDA stream: give a stream of team.stream(), CuPy, cuda.core, Numba or PyTorch"
    )


def make(priority: str) -> cupy.cuda.Stream:
    """A stream that does not wait for the default stream; "high" gets the device's best priority."""
    _, _, greatest = driver.cuCtxGetStreamPriorityRange()
    return cupy.cuda.Stream(non_blocking=True, priority=int(greatest) if priority == "high" else 0)


def capture_id(stream: int) -> int:
    """The number of the capture under way on a stream, or 0."""
    if not _runtime.streamIsCapturing(stream):
        return 0
    return int(driver.cuStreamGetCaptureInfo(stream)[2])


def order(before: int, after: int, event: cupy.cuda.Event) -> None:
    """Make ``after`` wait for what is in ``before`` now."""
    _runtime.eventRecord(event.ptr, before)
    _runtime.streamWaitEvent(after, event.ptr)
