"""Meeting the other PEs before a deadline.

MPI's own collectives wait for ever.  The library meets the others here first, so that whoever
is missing is named, and the collective that follows finds everybody there.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

from mpi4py import MPI

from ..errors import PeerTimeout
from . import liveness
from .control import COMPUTING, WAITING, Control

_NOTHING = (None, 0, MPI.BYTE)
LOOK_S = 0.05  # between two looks at signs of life
ARRIVED, LEFT = 32701, 32702  # message tags, below the 32767 that every MPI has


class Meeting:
    """One gathering of all PEs of ``comm``: an empty message from each to each.

    Unlike MPI_Ibarrier it knows, at any time, who is missing.
    """

    def __init__(self, comm: MPI.Intracomm, tag: int = ARRIVED):
        me, n_pes = comm.Get_rank(), comm.Get_size()
        others = [(me + step) % n_pes for step in range(1, n_pes)]  # nobody is everybody's first
        self._arrivals = [(pe, comm.Irecv(_NOTHING, pe, tag)) for pe in others]
        self._notices = [comm.Isend(_NOTHING, pe, tag) for pe in others]

    def complete(self) -> bool:
        """True once every PE has come (and heard of this one)."""
        self._arrivals = [(pe, request) for pe, request in self._arrivals if not request.Test()]
        self._notices = [request for request in self._notices if not request.Test()]
        return not self._arrivals and not self._notices

    def absent(self) -> list[int]:
        return sorted(pe for pe, _ in self._arrivals)

    def give_up(self) -> None:
        for _, request in self._arrivals:
            request.Cancel()
            request.Free()
        self._arrivals = []


class Deadline:
    """When to stop waiting for a Meeting: ``timeout_s`` (0: never) after it began, or after the last sign of life of
    the most silent PE that is missing, if that is later.
    """

    def __init__(self, control: Control | None, timeout_s: float):
        self._control, self._timeout_s = control, timeout_s
        self._since_ns = self._looked_ns = time.monotonic_ns()

    def passed(self, meeting: Meeting) -> bool:
        """Looks at the PEs that are missing every now and then; this PE shows that it lives as long as they do."""
        now_ns = time.monotonic_ns()
        if not self._timeout_s or now_ns - self._looked_ns < 1e9 * min(LOOK_S, self._timeout_s / 4):
            return False
        self._looked_ns = now_ns
        absent = meeting.absent()
        if self._control and absent:
            life_ns = min(self._control.life(pe) for pe in absent)
            liveness.show(life_ns)
            self._since_ns = max(self._since_ns, life_ns)
        return now_ns - self._since_ns > 1e9 * self._timeout_s


def pauses() -> Iterator[float]:
    """Yields the seconds since the start, sleeping in between: first by yielding the core, at last 1 ms."""
    start, nap_s = time.monotonic(), 0.0
    while True:
        passed_s = time.monotonic() - start
        yield passed_s
        if passed_s > 0.002:
            nap_s = min(max(2 * nap_s, 2e-5), 1e-3)
        time.sleep(nap_s)


def rendezvous(comm: MPI.Intracomm, control: Control | None, what: str, timeout_s: float) -> None:
    """Waits until every PE of ``comm`` is here; collective.

    what: the call, for the message; timeout_s: 0 waits for ever.
    Raises PeerTimeout naming the PEs that have not come and, on this node, what they were doing.
    """
    if comm.Get_size() == 1:
        return
    if control:
        control.enter(what)
        control.set_state(WAITING)
        liveness.show(time.monotonic_ns())
    meeting, deadline = Meeting(comm), Deadline(control, timeout_s)
    for _ in pauses():
        if meeting.complete():
            break
        if deadline.passed(meeting):
            absent = meeting.absent() or [-1]
            meeting.give_up()
            raise PeerTimeout(comm.Get_rank(), absent[0], what, timeout_s=timeout_s, detail=_whereabouts(absent, control))
    if control:
        control.set_state(COMPUTING)


def _whereabouts(absent: list[int], control: Control | None) -> str:
    if control:
        words = [control.describe(pe) for pe in absent[:4]]
    else:
        words = ["PE " + ", ".join(map(str, absent[:16])) + " has not come"]
    if len(absent) > 4:
        words.append(f"{len(absent)} PEs in all are missing")
    return f": {'; '.join(words)}."


def gather_checked(comm: MPI.Intracomm, control: Control | None, obj: Any, what: str, timeout_s: float) -> list[Any]:
    """Every PE's ``obj`` (picklable), in the order of the PEs; collective, with rendezvous()'s deadline and error."""
    rendezvous(comm, control, what, timeout_s)
    return comm.allgather(obj)
