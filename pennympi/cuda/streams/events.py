"""CUDA streams of any library, by their handles; events between streams, and graphs during capture."""

import ctypes
from collections.abc import Callable
from typing import Any

import cupy
from cuda.bindings import driver

from ...polling import poll_times
from ..compiler.launch import checked, library

_runtime = cupy.cuda.runtime
_current = cupy.cuda.get_current_stream
EXTERNAL = 1  # CU_EVENT_WAIT_EXTERNAL
# By ctypes, as the launch, since the functions of cuda.bindings take twice as long.
_record, _wait = library.cuEventRecord, library.cuStreamWaitEvent
event_passed, stream_ran = library.cuEventQuery, library.cuStreamQuery
event_passed.argtypes = stream_ran.argtypes = [ctypes.c_void_p]
_NOT_READY = 600  # CUDA_ERROR_NOT_READY
_record.argtypes = [ctypes.c_void_p, ctypes.c_void_p]
_wait.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_uint]


def _with_edges(name: str, version: int) -> Any:
    """A driver function in its version with edge data, which has a different name in CUDA 12 but not in CUDA 13."""
    return getattr(driver, f"{name}_v{version}", None) or getattr(driver, name)


_capture_info = _with_edges("cuStreamGetCaptureInfo", 3)
_update_dependencies = _with_edges("cuStreamUpdateCaptureDependencies", 2)
_add_dependencies = _with_edges("cuGraphAddDependencies", 2)
_remove_dependencies = _with_edges("cuGraphRemoveDependencies", 2)
_add_node = _with_edges("cuGraphAddNode", 2)
_FLAGS = driver.CUstreamUpdateCaptureDependencies_flags


def handle(stream: Any) -> int:
    """The CUstream of a stream of CuPy, cuda.core, Numba or PyTorch; None is CuPy's current stream.

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
        f"{type(stream).__name__} is not a CUDA stream: pass a stream of team.stream(), CuPy, cuda.core, Numba or PyTorch"
    )


def make(priority: str) -> cupy.cuda.Stream:
    """A stream that does not wait for the default stream; "high" has the device's greatest priority."""
    _, _, greatest = driver.cuCtxGetStreamPriorityRange()
    return cupy.cuda.Stream(non_blocking=True, priority=int(greatest) if priority == "high" else 0)


is_capturing = _runtime.streamIsCapturing


def capture_id(stream: int) -> int:
    """The number of the open capture of a stream, or 0."""
    if not is_capturing(stream):
        return 0
    return int(_capture_info(stream)[2])


def owner(stream: Any) -> Any:
    """See ``pennympi.memory.order.Events``: a stream that CuPy made, or a stream of PyTorch's pool, which lives for ever.

    A stream of cuda.core can be closed, and an object for another library's stream keeps nothing alive.
    """
    own = _current() if stream is None else stream
    if isinstance(own, cupy.cuda.Stream):
        return None if hasattr(own, "_foreign_stream_ref") else own  # set by Stream.from_external
    kind = type(own)
    return own if kind.__module__.startswith("torch.") and kind.__name__ == "Stream" else None


def new_event() -> ctypes.c_void_p:
    """An event without timing that has passed; it lives as long as the process."""
    event = ctypes.c_void_p(int(checked(driver.cuEventCreate(driver.CUevent_flags.CU_EVENT_DISABLE_TIMING))))
    stream = cupy.cuda.Stream(non_blocking=True)
    record(event, stream.ptr)
    return event


def record(event: ctypes.c_void_p, stream: int) -> None:
    """Record an event after all work that the stream holds now."""
    _checked(_record(event, stream))


def wait(event: ctypes.c_void_p, stream: int) -> None:
    """Make the stream wait for the event."""
    _checked(_wait(stream, event, 0))


def wait_external(event: ctypes.c_void_p, stream: int) -> None:
    """During a capture, add a node that waits for the event whenever the graph runs."""
    _checked(_wait(stream, event, EXTERNAL))


def poll(ready: Callable[[Any], int], handle: Any) -> None:
    """Wait until ``ready`` (event_passed or stream_ran) reports the end of the work, and let signal handlers run.

    Python runs no handlers while the host waits in a call of CUDA.
    """
    for _ in poll_times():
        if ready(handle) != _NOT_READY:
            return


def _checked(status: int) -> None:
    if status:
        checked((driver.CUresult(status),))


def wait_for_end(stream: int, end: tuple[Any, Any]) -> None:
    """During a capture, make the stream wait for the nodes of an ``end`` as well."""
    own = {int(node) for node in captured(stream)[1]}
    nodes = [node for node in end[1] if int(node) not in own]
    if nodes:
        checked(_update_dependencies(stream, nodes, None, len(nodes), _FLAGS.CU_STREAM_ADD_CAPTURE_DEPENDENCIES))


def captured(stream: int) -> tuple[Any, list[Any]]:
    """(the graph that is captured from a stream, the stream's last nodes)."""
    info = checked(_capture_info(stream))
    return info[2], list(info[3])


def add_node(stream: int, params: driver.CUgraphNodeParams) -> None:
    """During a capture, add a node after the stream's last nodes."""
    graph, nodes = captured(stream)
    node = checked(_add_node(graph, nodes, None, len(nodes), params))
    checked(_update_dependencies(stream, [node], None, 1, _FLAGS.CU_STREAM_SET_CAPTURE_DEPENDENCIES))


def record_at_end(event: ctypes.c_void_p | None, stream: int, end: tuple[Any, Any] | None) -> tuple[Any, Any]:
    """During a capture: (a node outside the stream that records the event, the stream's last nodes, which it follows).

    A capture has one such node, which moves from call to call.  It is not part of the stream, so that kernels may begin
    before the previous kernels end.
    """
    graph, nodes = captured(stream)
    if event is None:
        return None, nodes
    if end is None:
        return checked(driver.cuGraphAddEventRecordNode(graph, nodes, len(nodes), driver.CUevent(event.value))), nodes
    mark, before = end
    checked(_remove_dependencies(graph, before, [mark] * len(before), None, len(before)))
    checked(_add_dependencies(graph, nodes, [mark] * len(nodes), None, len(nodes)))
    return mark, nodes
