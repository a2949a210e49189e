"""Barriers with a deadline.

MPI's own collectives wait for ever.  The library enters such a barrier before each of them: a PE that does not come is
named, and the collective that follows finds every PE there.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

from mpi4py import MPI

from ..errors import PeerTimeout
from . import liveness
from .control import COMPUTING, WAITING, Control

_NOTHING = (None, 0, MPI.BYTE)
LIVENESS_INTERVAL_S = 0.05  # between two looks at the signs of life of absent PEs
ARRIVED, LEFT = 32701, 32702  # message tags, below the 32767 that every MPI has


class PolledBarrier:
    """A barrier over ``comm``, entered when it is made and then polled.  Every PE sends an empty message to each other.

    Unlike MPI_Ibarrier it knows at any time which PEs have not come.
    """

    def __init__(self, comm: MPI.Intracomm, tag: int = ARRIVED):
        me, n_pes = comm.Get_rank(), comm.Get_size()
        others = [(me + step) % n_pes for step in range(1, n_pes)]  # each PE begins with another one
        self._receives = [(pe, comm.Irecv(_NOTHING, pe, tag)) for pe in others]
        self._sends = [comm.Isend(_NOTHING, pe, tag) for pe in others]

    def complete(self) -> bool:
        """True once every PE has entered, and this PE's messages are out."""
        self._receives = [(pe, request) for pe, request in self._receives if not request.Test()]
        self._sends = [request for request in self._sends if not request.Test()]
        return not self._receives and not self._sends

    def absent(self) -> list[int]:
        """The PEs that had not entered at the last call of ``complete``, in order."""
        return sorted(pe for pe, _ in self._receives)

    def cancel(self) -> None:
        """Stop waiting for the absent PEs."""
        for _, request in self._receives:
            request.Cancel()
            request.Free()
        self._receives = []


class Deadline:
    """When to stop waiting at a PolledBarrier: after ``timeout_s`` (0: never) without a sign of life.

    The time counts from the start, or from the last sign of life of the most silent absent PE, if that is later.
    """

    def __init__(self, control: Control | None, timeout_s: float):
        self._control, self._timeout_s = control, timeout_s
        self._since_ns = self._looked_ns = time.monotonic_ns()

    def passed(self, barrier: PolledBarrier) -> bool:
        """True once the time is over.  From time to time it passes the absent PEs' sign of life on as this PE's."""
        now_ns = time.monotonic_ns()
        if not self._timeout_s or now_ns - self._looked_ns < 1e9 * min(LIVENESS_INTERVAL_S, self._timeout_s / 4):
            return False
        self._looked_ns = now_ns
        absent = barrier.absent()
        if self._control and absent:
            alive_ns = min(self._control.last_alive_ns(pe) for pe in absent)
            liveness.show_alive(alive_ns)
            self._since_ns = max(self._since_ns, alive_ns)
        words = liveness.watch_words
        self._since_ns = max(self._since_ns, int(words[liveness.RESUMED_NS]))
        runs = now_ns - words[liveness.TICKED_NS] < liveness.LATE_NS  # or this process has just been suspended
        return bool(runs and now_ns - self._since_ns > 1e9 * self._timeout_s)


def poll_times() -> Iterator[float]:
    """Yield the seconds since the start, for ever, with a pause in between: at first the core is yielded, later 1 ms."""
    start_s, nap_s = time.monotonic(), 0.0
    while True:
        passed_s = time.monotonic() - start_s
        yield passed_s
        if passed_s > 0.002:
            nap_s = min(max(2 * nap_s, 2e-5), 1e-3)
        time.sleep(nap_s)


def rendezvous(
    comm: MPI.Intracomm,
    control: Control | None,
    what: str,
    timeout_s: float,
    show_waiting: Callable[[int], None] = lambda pe: None,
) -> None:
    """Wait until every PE of ``comm`` has made this call.  Collective.

    what:      names the call in messages
    timeout_s: how long to wait for a PE without a sign of life; 0 waits for ever
    show_waiting: is told again and again the PE that this one waits for; not needed with ``control``
    Raises PeerTimeout, which names the absent PEs and says what those of this node were doing.
    """
    if comm.Get_size() == 1:
        return
    if control:
        control.enter(what)
        control.set_state(WAITING)
        show_waiting = control.show_waiting
        liveness.show_alive(time.monotonic_ns())
    barrier, deadline, shown_s = PolledBarrier(comm), Deadline(control, timeout_s), 0.0
    for passed_s in poll_times():
        if barrier.complete():
            break
        if passed_s - shown_s > LIVENESS_INTERVAL_S:
            shown_s = passed_s
            for pe in barrier.absent()[:1]:
                show_waiting(pe)
        if deadline.passed(barrier):
            absent = barrier.absent() or [-1]
            barrier.cancel()
            detail = _describe(absent, control)
            raise PeerTimeout(comm.Get_rank(), absent[0], what, timeout_s=timeout_s, detail=detail)
    if control:
        control.set_state(COMPUTING)


def _describe(absent: list[int], control: Control | None) -> str:
    if control:
        words = [control.describe(pe) for pe in absent[:4]]
    else:
        words = ["PE " + ", ".join(map(str, absent[:16])) + " has not come"]
    if len(absent) > 4:
        words.append(f"{len(absent)} PEs in all are missing")
    return f": {'; '.join(words)}."


def gather_checked(comm: MPI.Intracomm, control: Control | None, obj: Any, what: str, timeout_s: float) -> list[Any]:
    """Every PE's ``obj`` (picklable), in order of PE.  Collective, with the deadline and the error of ``rendezvous``."""
    rendezvous(comm, control, what, timeout_s)
    return comm.allgather(obj)
