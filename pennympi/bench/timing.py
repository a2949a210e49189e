"""The time of a call on the slowest PE, over many repeats.

The unit of measurement is a burst: calls one after another, as in nccl-tests.  On a GPU all bursts of a series are
queued at once, with an event between them, and the first bursts are discarded.  After them the PEs run in step, since a
collective waits for all PEs, and no burst waits for a launch.  On the host the implementations' bursts take turns.  The
time of a burst is that of the slowest PE; median and 99th percentile are over the bursts.
"""

import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from mpi4py import MPI

from ..team import Team
from .implementation import Call

DISCARDED_BURSTS = 2  # discarded bursts at the start of a series
MIN_BURSTS, MAX_BURSTS = 5, 100  # bursts of a series, without the discarded bursts
ESTIMATE_CALLS = 2  # calls for the first estimate of a call's time


class Effort(NamedTuple):
    """The effort of a measurement.

    calls:     calls of a burst;  warmup: calls before the measurement
    budget_ms: time of a series: long calls get fewer bursts, and fewer calls in a burst unless ``exact``
    """

    calls: int = 20
    warmup: int = 5
    budget_ms: float = 100.0
    exact: bool = False

    def series(self, call_us: float) -> tuple[int, int]:
        """(calls of a burst, bursts) for calls that take about ``call_us``."""
        affordable = self.budget_ms * 1e3 / max(call_us, 0.1)  # calls
        calls = self.calls if self.exact else max(1, min(self.calls, int(affordable / MIN_BURSTS)))
        return calls, max(MIN_BURSTS, min(MAX_BURSTS, int(affordable / calls)))


class Times(NamedTuple):
    """Times of a call on the slowest PE.  mode: "graph", "eager" or "host"."""

    median_us: float
    p99_us: float
    least_us: float
    mode: str


def _slowest_us(team: Team, us: Any) -> np.ndarray:
    """The maximum over all PEs of each element.  Collective."""
    slowest = np.atleast_1d(np.asarray(us, np.float64))
    team.comm.Allreduce(MPI.IN_PLACE, slowest, MPI.MAX)
    return slowest


def _summary(team: Team, call_us: list[float], mode: str) -> Times:
    us = _slowest_us(team, call_us[DISCARDED_BURSTS:])
    return Times(float(np.median(us)), float(np.percentile(us, 99)), float(us.min()), mode)


def on_host(team: Team, calls: list[Call], effort: Effort) -> list[Times]:
    """Times of blocking calls, whose bursts take turns, so that other load affects all calls alike.

    Collective.
    """
    counts = []
    for call in calls:
        _burst_us(call, effort.warmup)
        team.comm.Barrier()
        counts.append(effort.series(_slowest_us(team, _burst_us(call, ESTIMATE_CALLS))[0]))
    took_us: list[list[float]] = [[] for _ in calls]
    for number in range(DISCARDED_BURSTS + MAX_BURSTS):
        for call, (n, bursts), us in zip(calls, counts, took_us, strict=True):
            if number < DISCARDED_BURSTS + bursts:
                us.append(_burst_us(call, n))
    return [_summary(team, us, "host") for us in took_us]


def _burst_us(call: Call, calls: int, stream: Any = None) -> float:
    """Host time of a call in a burst, on this PE, in us."""
    begin = time.perf_counter()
    for _ in range(calls):
        call(stream)
    return (time.perf_counter() - begin) / max(1, calls) * 1e6


def on_device(team: Team, call: Call, stream: Any, effort: Effort, graph: bool) -> Times:
    """Times of an asynchronous call, in a CUDA graph (``graph``) or launched call by call.  Collective.

    If a PE can't capture the call, every call is launched, which ``mode`` shows.
    """
    _burst_us(call, effort.warmup, stream)
    team.synchronize(stream)
    estimate_us = _series(stream, lambda: _burst_us(call, ESTIMATE_CALLS, stream), 1, ESTIMATE_CALLS)
    calls, bursts = effort.series(_slowest_us(team, estimate_us)[0])
    burst: Callable[[], object] = lambda: _burst_us(call, calls, stream)  # noqa: E731
    captured: Any = _capture(stream, burst) if graph else None
    mode = "eager" if _slowest_us(team, captured is None).any() else "graph"
    team.comm.Barrier()
    launch = burst if mode == "eager" else lambda: captured.launch(stream)
    call_us = _series(stream, launch, bursts + DISCARDED_BURSTS, calls)
    team.synchronize(stream)  # raises the PeerTimeout that a kernel recorded
    return _summary(team, call_us, mode)


def _series(stream: Any, burst: Callable[[], object], bursts: int, calls: int) -> list[float]:
    """Time of a call in each burst, on this PE, in us.  All bursts are queued before the first is awaited."""
    import cupy

    events = [cupy.cuda.Event() for _ in range(bursts + 1)]
    events[0].record(stream)
    for event in events[1:]:
        burst()
        event.record(stream)
    events[-1].synchronize()
    pairs = zip(events, events[1:], strict=False)
    return [cupy.cuda.get_elapsed_time(begin, end) / calls * 1e3 for begin, end in pairs]


def _capture(stream: Any, burst: Callable[[], object]) -> Any:
    """A CUDA graph of a burst, or None if one of its calls can't be captured."""
    graph = None
    with stream:
        stream.begin_capture()
        try:
            try:
                burst()
            finally:
                graph = stream.end_capture()
        except Exception:  # each library raises its own exception
            return None
    return graph


def host_cost_us(team: Team, call: Call, stream: Any) -> float:
    """Host time of an asynchronous call: the slowest PE's median.  Collective."""
    took_us = []
    for _ in range(30):
        took_us.append(_burst_us(call, 20, stream))
        team.synchronize(stream)
    return float(_slowest_us(team, float(np.median(took_us[10:])))[0])
