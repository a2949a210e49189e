"""Meetings with a deadline: barriers and gathers that poll.

MPI's own collectives wait for ever once they have begun, so the library calls none of them.  A PE that comes to a meeting
sends each other PE one message: the calls that it has made, what it has come for, and what it brings.  PeerTimeout names
a PE that does not come.  CollectiveMismatchError is raised on all PEs if they made different calls before, or come for
different things.
"""

from __future__ import annotations

import pickle
import time
import zlib
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import cycle
from typing import Any

from mpi4py import MPI

from ..errors import CollectiveMismatchError, PeerTimeout
from . import liveness
from .arrivals import Arrivals
from .control import COMPUTING, WAITING, Control
from .difference import Recent, first_difference
from .process import Process, halted, on_host

LIVENESS_INTERVAL_S = 0.05  # between two looks at the signs of life of absent PEs
DIFFERENCE_S = 1.0  # after this time a difference is raised, though some PEs have not come
LEFT, ARRIVED = 32500, 32502  # message tags, below the 32767 that every MPI has; of meetings the first of NUMBERS
NUMBERS = 64  # meetings that have tags of their own, in turn: the last tag is below those of beats.py and remote.py
MOST_BYTES = (1 << 31) - (1 << 20)  # of what a PE brings: MPI counts bytes in 32 bits


class PolledBarrier:
    """A barrier over ``comm``, entered when it is made and then polled.  Every PE sends ``message`` to each other PE.

    Unlike MPI_Ibarrier it knows at any time which PEs have not come.

    tag:      of the messages.  A meeting has a tag of its own, because messages were seen to overtake those before them
              (MPICH on UCX)
    messages: of the PEs that have come, and of this PE
    """

    def __init__(self, comm: MPI.Intracomm, tag: int = ARRIVED, message: bytes = b""):
        me, n_pes = comm.Get_rank(), comm.Get_size()
        self.messages: dict[int, bytes | bytearray] = {me: message}
        self._comm, self._tag = comm, tag
        others = [(me + step) % n_pes for step in range(1, n_pes)]  # each PE begins with another one
        self._silent = others  # PEs whose message has not begun to arrive
        self._receives: dict[int, tuple[bytearray, MPI.Request]] = {}
        self._sends = {pe: comm.Isend((message, MPI.BYTE), pe, tag) for pe in others}

    def complete(self) -> bool:
        """True once every PE has entered, and this PE's messages are out."""
        status = MPI.Status()
        for pe in self._silent:
            probe = partial(self._comm.Improbe, pe, self._tag, status)
            if found := probe() or probe():  # MPICH finds what the first probe has made arrive, and a pause is long
                buffer = bytearray(status.Get_count(MPI.BYTE))
                self._receives[pe] = buffer, found.Irecv((buffer, MPI.BYTE))
        self._silent = [pe for pe in self._silent if pe not in self._receives]
        for pe, (buffer, request) in tuple(self._receives.items()):
            if pe not in self.messages and request.Test():
                self.messages[pe] = buffer
        self._sends = {pe: request for pe, request in self._sends.items() if not request.Test()}
        return not self.absent()

    def absent(self) -> list[int]:
        """The PEs that had not come, or not taken this PE's message, at the last call of ``complete``, in order."""
        return [pe for pe in range(self._comm.size) if pe not in self.messages or pe in self._sends]


class Deadline:
    """When to stop waiting at a meeting: after ``timeout_s`` (0: never) without a sign of life.

    The time counts from the start, or from the last sign of life of the most silent absent PE, if that is later.
    """

    def __init__(self, control: Control | None, timeout_s: float):
        self._control, self._timeout_s = control, timeout_s
        self._since_ns = self._looked_ns = time.monotonic_ns()

    def passed(self, absent: Sequence[int]) -> bool:
        """True once the time is over.  From time to time it passes the absent PEs' sign of life on as this PE's."""
        now_ns = time.monotonic_ns()
        if not self._timeout_s or now_ns - self._looked_ns < 1e9 * min(LIVENESS_INTERVAL_S, self._timeout_s / 4):
            return False
        self._looked_ns = now_ns
        if self._control and absent:
            alive_ns = min(self._control.last_alive_ns(pe) for pe in absent)
            liveness.show_alive(alive_ns)
            self._since_ns = max(self._since_ns, alive_ns)
        words = liveness.watch_words
        self._since_ns = max(self._since_ns, int(words[liveness.RESUMED_NS]))
        runs = now_ns - words[liveness.TICKED_NS] < liveness.LATE_NS  # else this process has just been suspended
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


class Meetings:
    """The meetings of the PEs of one communicator.

    timeout_s: how long to wait for a PE without a sign of life; 0 waits for ever
    processes: of all PEs, once they are known;  control: the table of the node, once there is one
    """

    def __init__(self, comm: MPI.Intracomm, timeout_s: float, processes: Sequence[Process] = ()):
        self.comm, self.timeout_s, self.processes = comm, timeout_s, processes
        self.control: Control | None = None
        self._me, self._n_pes = comm.Get_rank(), comm.Get_size()
        self._numbers = cycle(range(NUMBERS))

    def gather(self, obj: Any, what: str) -> list[Any]:
        """Every PE's ``obj``, in order of PE.  Collective.

        what: names the call, the same on every PE
        Raises PeerTimeout, which names the absent PEs and says what those of this node were doing.  Raises on every PE:
        CollectiveMismatchError, if a PE has come for something else or has made other calls; TypeError or ValueError,
        if a PE brings an object that can't be pickled, or is too large.
        """
        data, refusal = b"", ""
        try:
            data = pickle.dumps(obj, pickle.HIGHEST_PROTOCOL)
        except Exception as error:  # of any type: objects pickle themselves
            refusal = f"can't be pickled: {type(error).__name__}: {error}"
        if len(data) > MOST_BYTES:
            data, refusal = b"", f"has {len(data)} bytes, and {MOST_BYTES} are the most: bring it in parts"
        if self._n_pes == 1:
            brought = [(data, refusal)]
        else:
            brought = self._meet(what, data, refusal)
        refused = [f"what PE {pe} brings to {what} {why}" for pe, (_, why) in enumerate(brought) if why]
        if refused:
            raise (TypeError if "pickled" in refused[0] else ValueError)("; ".join(refused[:4]))
        return [pickle.loads(data) for data, _ in brought]

    def _meet(self, what: str, data: bytes, refusal: str) -> list[tuple[bytes, str]]:
        """Every PE's (pickled object, why it brings none), in order of PE."""
        control = self.control
        calls = Recent(zlib.crc32(what.encode()), 1, (what,))
        if control:
            control.enter(what)
            control.set_state(WAITING)
            liveness.show_alive(time.monotonic_ns())
            calls = control.recent()
        message = pickle.dumps((*calls, data, refusal), pickle.HIGHEST_PROTOCOL)
        barrier = PolledBarrier(self.comm, ARRIVED + next(self._numbers), message)
        deadline = Deadline(control, self.timeout_s)
        came: dict[int, Recent] = {}
        brought: dict[int, tuple[bytes, str]] = {}
        shown_s, differ_since_s = 0.0, float("inf")
        for passed_s in poll_times():
            complete = barrier.complete()
            for pe in barrier.messages.keys() - came.keys():
                digest, number, texts, *brought[pe] = pickle.loads(barrier.messages[pe])
                came[pe] = Recent(digest, number, texts)
                if digest != calls.digest:
                    differ_since_s = min(differ_since_s, passed_s)
            if complete or passed_s - differ_since_s > DIFFERENCE_S:
                break
            if control and passed_s - shown_s > LIVENESS_INTERVAL_S:
                shown_s = passed_s
                for pe in barrier.absent()[:1]:
                    control.show_waiting(pe)
            if deadline.passed(barrier.absent()):
                self._give_up(barrier.absent(), what)
        if control:
            control.met()
            control.set_state(COMPUTING)
        if differ_since_s < float("inf"):
            raise CollectiveMismatchError(first_difference({pe: came[pe] for pe in sorted(came)}))
        return [brought[pe] for pe in range(self._n_pes)]

    def arrive(self, show_waiting: Callable[[int], None]) -> None:
        """Wait for every PE without sending a message.  Collective.  Raises PeerTimeout.

        show_waiting: is called again and again with a PE that has not come
        """
        arrivals, deadline, shown_s = Arrivals(self.comm), Deadline(None, self.timeout_s), 0.0
        for passed_s in poll_times():
            if arrivals.complete():
                self.processes = arrivals.processes()
                return
            if passed_s - shown_s > LIVENESS_INTERVAL_S:
                shown_s = passed_s
                for pe in arrivals.absent()[:1]:
                    show_waiting(pe)
            if deadline.passed(()):
                self._give_up(arrivals.absent(), "init")

    def duplicate(self) -> MPI.Intracomm:
        """A duplicate of the communicator, after ``arrive``.  Collective.  Raises PeerTimeout."""
        comm, request = self.comm.Idup()
        deadline = Deadline(None, self.timeout_s)
        for _ in poll_times():
            if request.Test():
                return comm
            if deadline.passed(()):
                self._give_up([pe for pe in range(self._n_pes) if self._halted(pe)], "init")
        raise AssertionError("poll_times ends")

    def _give_up(self, absent: list[int], what: str) -> None:
        """Raise PeerTimeout.  The message begins with those that are stopped or have ended: others may wait for them."""
        absent = sorted(absent, key=lambda pe: not self._halted(pe))
        detail = f": {_in_short([self._describe(pe) for pe in absent])}." if absent else ""
        peer = absent[0] if absent else -1
        raise PeerTimeout(self._me, peer, what, timeout_s=self.timeout_s, detail=detail)

    def _halted(self, pe: int) -> str:
        """That ``pe`` is stopped or has ended, in words; "" if it runs, as far as this PE knows."""
        near = self.processes and self.processes[pe].node == self.processes[self._me].node
        return halted(self.processes, pe) if near else ""

    def _describe(self, pe: int) -> str:
        if self.control:
            return self.control.describe(pe)
        if text := self._halted(pe):
            return text
        return f"PE {pe}{on_host(self.processes, pe)} has not come"


def _in_short(words: Sequence[str]) -> str:
    """The first four, and how many there are."""
    return "; ".join(words[:4]) + (f"; {len(words)} PEs in all are missing" if len(words) > 4 else "")
