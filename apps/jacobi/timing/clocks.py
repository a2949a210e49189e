"""Moments of a stream, to time what is between them: the clock on a CPU, events on a GPU."""

import time
from collections.abc import Callable
from typing import Any


class HostClock:
    """Everything has happened when a call returns."""

    def now(self, stream: Any) -> float:
        """A moment of the stream."""
        return time.perf_counter()

    def seconds(self, moments: list[Any]) -> list[float]:
        """When they were, from the first on."""
        return [moment - moments[0] for moment in moments]


SPARE_EVENTS = 16384  # made before the run, to take as little of its time as possible


class CudaClock:
    """Events, read when all has run.  Inside a graph capture there are no moments."""

    def __init__(self) -> None:
        import cupy

        self._cuda = cupy.cuda
        self._spare = [cupy.cuda.Event() for _ in range(SPARE_EVENTS)]

    def now(self, stream: Any) -> Any:
        """An event behind the stream's work, or None inside a capture."""
        stream = stream or self._cuda.get_current_stream()
        if self._cuda.runtime.streamIsCapturing(stream.ptr):
            return None
        event = self._spare.pop() if self._spare else self._cuda.Event()
        event.record(stream)
        return event

    def seconds(self, moments: list[Any]) -> list[float]:
        """When they were, from the first on."""
        self._cuda.Device().synchronize()
        return [self._cuda.get_elapsed_time(moments[0], moment) / 1e3 for moment in moments]


def clock(team: Any) -> Any:
    """The clock of the team's device."""
    return CudaClock() if team.backend == "cuda" else HostClock()


def ranges(team: Any) -> tuple[Callable[[str], Any], Callable[[], Any]]:
    """(push, pop) of NVTX ranges, which Nsight Systems shows; on a CPU where the package ``nvtx`` is installed."""
    if team.backend == "cuda":
        from cupy.cuda import nvtx

        return nvtx.RangePush, nvtx.RangePop
    try:
        import nvtx
    except ImportError:
        return lambda name: None, lambda: None
    return nvtx.push_range, nvtx.pop_range
