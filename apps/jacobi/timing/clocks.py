"""Timestamps in stream order: from the clock on a CPU, from events on a GPU."""

import time
from collections.abc import Callable
from typing import Any


class HostClock:
    """For a CPU, where everything has been done when a call returns."""

    def now(self, stream: Any) -> float:
        """A timestamp."""
        return time.perf_counter()

    def seconds(self, stamps: list[Any]) -> list[float]:
        """Seconds from the first timestamp to each."""
        return [stamp - stamps[0] for stamp in stamps]


SPARE_EVENTS = 16384  # made before the run, because making one takes time


class CudaClock:
    """For a GPU: events, whose times are read after the run.  There are none inside a graph capture."""

    def __init__(self) -> None:
        import cupy

        self._cuda = cupy.cuda
        self._spare = [cupy.cuda.Event() for _ in range(SPARE_EVENTS)]

    def now(self, stream: Any) -> Any:
        """An event recorded in the stream, or None inside a capture."""
        stream = stream or self._cuda.get_current_stream()
        if self._cuda.runtime.streamIsCapturing(stream.ptr):
            return None
        event = self._spare.pop() if self._spare else self._cuda.Event()
        event.record(stream)
        return event

    def seconds(self, stamps: list[Any]) -> list[float]:
        """Seconds from the first timestamp to each."""
        self._cuda.Device().synchronize()
        return [self._cuda.get_elapsed_time(stamps[0], stamp) / 1e3 for stamp in stamps]


def clock(team: Any) -> Any:
    """The clock for the team's device."""
    return CudaClock() if team.backend == "cuda" else HostClock()


def ranges(team: Any) -> tuple[Callable[[str], Any], Callable[[], Any]]:
    """(push, pop) of NVTX ranges for Nsight Systems.  On a CPU they do nothing without the package ``nvtx``."""
    if team.backend == "cuda":
        from cupy.cuda import nvtx

        return nvtx.RangePush, nvtx.RangePop
    try:
        import nvtx
    except ImportError:
        return lambda name: None, lambda: None
    return nvtx.push_range, nvtx.pop_range
