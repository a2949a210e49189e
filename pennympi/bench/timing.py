"""How long a call takes: on the slowest PE, over many repeats.

One measurement is a burst of calls, back to back, as nccl-tests makes it.  On a
GPU all bursts of a series are queued at once with an event between them, and the
first ones are thrown away: from then on the PEs run in step, for a collective
waits for all of them, and no launch is waited for.  On the host the contestants'
bursts take turns.  The time of a burst is that
of the slowest PE; median and 99th percentile are over the bursts.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from mpi4py import MPI

from ..team import Team
from .contestant import Call

DISCARDED = 2  # bursts at the start of a series
FEWEST, MOST = 5, 100  # bursts of a series
ESTIMATED = 2  # calls that the first guess is made from


@dataclass(frozen=True)
class Effort:
    """How much to measure.

    calls:     of one burst;  warmup: calls before anything is measured
    budget_ms: of one series; long calls get fewer bursts, and unless ``exact`` fewer calls a burst
    """

    calls: int = 20
    warmup: int = 5
    budget_ms: float = 100.0
    exact: bool = False

    def series(self, call_us: float) -> tuple[int, int]:
        """(calls of a burst, bursts) for calls of about this long."""
        afford = self.budget_ms * 1e3 / max(call_us, 0.1)  # calls
        calls = self.calls if self.exact else max(1, min(self.calls, int(afford / FEWEST)))
        return calls, max(FEWEST, min(MOST, int(afford / calls)))


@dataclass(frozen=True)
class Times:
    """Microseconds of one call, over the bursts: of the slowest PE.  mode: "graph", "eager" or "host"."""

    median_us: float
    p99_us: float
    least_us: float
    calls: int
    bursts: int
    mode: str


def _agreed(team: Team, us: Any) -> np.ndarray:
    """The PEs' greatest, element by element."""
    mine = np.atleast_1d(np.asarray(us, np.float64))
    slowest = np.empty_like(mine)
    team.comm.Allreduce(mine, slowest, MPI.MAX)
    return slowest


def _summary(team: Team, call_us: list[float], calls: int, mode: str) -> Times:
    us = _agreed(team, call_us)
    return Times(float(np.median(us)), float(np.percentile(us, 99)), float(us.min()), calls, len(us), mode)


def on_host(team: Team, calls: list[Call], effort: Effort) -> list[Times]:
    """Times of calls that return when they are done, one series each.  Collective.

    Their bursts take turns, so that whatever else the machine does meets all of them alike.
    """
    counts = []
    for call in calls:
        for _ in range(effort.warmup):
            call(None)
        team.comm.Barrier()
        counts.append(effort.series(_agreed(team, _burst_us(call, ESTIMATED))[0]))
    took_us: list[list[float]] = [[] for _ in calls]
    for turn in range(DISCARDED + max(bursts for _, bursts in counts)):
        for call, (n, bursts), us in zip(calls, counts, took_us, strict=True):
            if turn < DISCARDED + bursts:
                us.append(_burst_us(call, n))
    return [_summary(team, us[DISCARDED:], n, "host") for us, (n, _) in zip(took_us, counts, strict=True)]


def _burst_us(call: Call, calls: int) -> float:
    """Microseconds a call of one burst of a call that returns when it is done."""
    begin = time.perf_counter()
    for _ in range(calls):
        call(None)
    return (time.perf_counter() - begin) / calls * 1e6


def on_device(team: Team, call: Call, stream: Any, effort: Effort, graph: bool) -> Times:
    """Times of an asynchronous call, in a CUDA graph or launched one by one.  Collective.

    A call that can't be captured (on any PE) is launched one by one instead; ``mode`` says so.
    """
    for _ in range(effort.warmup):
        call(stream)
    team.synchronize(stream)

    def eager(calls: int) -> Callable[[], None]:
        def burst() -> None:
            for _ in range(calls):
                call(stream)

        return burst

    calls, bursts = effort.series(_agreed(team, _series(stream, eager(ESTIMATED), 1, ESTIMATED))[0])
    burst, mode = eager(calls), "eager"
    if graph:
        captured = _capture(stream, call, calls)
        if not _agreed(team, captured is None).any():
            burst, mode = (lambda: captured.launch(stream)), "graph"
    team.comm.Barrier()
    call_us = _series(stream, burst, bursts + DISCARDED, calls)
    team.synchronize(stream)  # raises what a kernel recorded
    return _summary(team, call_us[DISCARDED:], calls, mode)


def _series(stream: Any, burst: Callable[[], None], bursts: int, calls: int) -> list[float]:
    """Microseconds a call of each burst; all of them are queued before the first is waited for."""
    import cupy

    events = [cupy.cuda.Event() for _ in range(bursts + 1)]
    events[0].record(stream)
    for event in events[1:]:
        burst()
        event.record(stream)
    events[-1].synchronize()
    pairs = zip(events, events[1:], strict=False)
    return [cupy.cuda.get_elapsed_time(begin, end) / calls * 1e3 for begin, end in pairs]


def _capture(stream: Any, call: Call, calls: int) -> Any:  # a cupy.cuda.Graph
    """A graph of so many calls, or None when one of them can't be captured."""
    failed = False
    with stream:
        stream.begin_capture()
        try:
            for _ in range(calls):
                call(stream)
        except Exception:  # of any library; the capture has to end either way
            failed = True
        try:
            graph = stream.end_capture()
        except Exception:
            failed = True
    return None if failed else graph


def host_cost_us(team: Team, call: Call, stream: Any) -> float:
    """Microseconds of host time that one asynchronous call takes: slowest PE, median.  Collective."""
    took_us = []
    for _ in range(30):
        begin = time.perf_counter()
        for _ in range(20):
            call(stream)
        took_us.append((time.perf_counter() - begin) / 20 * 1e6)
        team.synchronize(stream)
    return float(_agreed(team, float(np.median(took_us[10:])))[0])
