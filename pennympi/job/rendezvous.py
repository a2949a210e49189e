"""Meetings with a deadline: barriers and gathers that poll.

MPI's collectives wait for ever once they have begun, so the library calls none of them.  A PE that comes to a meeting
sends each other PE a message: its calls so far, the name of the meeting, and an object.  PeerTimeout names a PE that
does not come.  CollectiveMismatchError is raised on all PEs if they have made different calls, or come to different
meetings.
"""

from __future__ import annotations

import pickle
import time
import zlib
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import cycle
from typing import Any

from mpi4py import MPI

from ..errors import CollectiveMismatchError, PeerTimeout
from ..polling import poll_times
from . import liveness
from .control import Control, Recent
from .process import MOST_NAMED, Process, halted, on_host, pes_in_words, this_process

LIVENESS_INTERVAL_S = 0.05  # time between two reads of the signs of life of absent PEs
# Message tags, below the 32767 that every MPI has.  Meetings use the N_TAGS tags from ARRIVED on, in turn; the last tag
# is below those of beats.py and remote.py.
LEFT, ARRIVED, N_TAGS = 32500, 32502, 64
MOST_BYTES = (1 << 31) - (1 << 20)  # largest pickled object of a PE, since MPI counts bytes in 32 bits
PROCESS_BYTES, NODE_CHARACTERS = 2048, 450  # size of a PE's message in ``Arrivals``, and of the node's name in it


class Arrivals:
    """A barrier over the program's ``comm`` that also gathers each PE's ``Process``.  The constructor enters the
    barrier; then it is polled.

    The program may receive any message, so only MPI's collectives are used.  The root of MPI_Iscatterv sends to every PE
    itself, so a scatter that has ended shows that its root has come.
    """

    def __init__(self, comm: MPI.Intracomm):
        self._me, n_pes = comm.Get_rank(), comm.Get_size()
        process = this_process()
        own = pickle.dumps(process._replace(node=process.node[:NODE_CHARACTERS])).ljust(PROCESS_BYTES, b"\0")
        sent = [own * n_pes, [len(own)] * n_pes, [len(own) * pe for pe in range(n_pes)], MPI.BYTE]
        self._received = [bytearray(len(own)) for _ in range(n_pes)]
        self._scatters = {
            pe: comm.Iscatterv(sent if pe == self._me else None, [buffer, MPI.BYTE], root=pe)
            for pe, buffer in enumerate(self._received)
        }

    def complete(self) -> bool:
        """True once every PE has come."""
        self._scatters = {pe: request for pe, request in self._scatters.items() if not request.Test()}
        return not self._scatters

    def absent(self) -> list[int]:
        """The PEs that had not come at the last call of ``complete``, in order."""
        return [pe for pe in self._scatters if pe != self._me]

    def processes(self) -> list[Process]:
        """The processes of all PEs, after every PE has come."""
        return [pickle.loads(buffer) for buffer in self._received]  # pickle ignores the zeros at the end


class PolledBarrier:
    """A barrier over ``comm`` in which every PE sends ``message`` to each other PE.  The constructor enters the barrier;
    then it is polled.

    Unlike MPI_Ibarrier it knows at any time which PEs have not come.

    tag:      tag of the messages.  Each meeting has its own tag, since a message may overtake earlier ones (seen with
              MPICH on UCX)
    messages: {PE that has come, or this PE: its message}
    """

    def __init__(self, comm: MPI.Intracomm, tag: int = ARRIVED, message: bytes = b""):
        me, n_pes = comm.Get_rank(), comm.Get_size()
        self.messages: dict[int, bytes | bytearray] = {me: message}
        self._comm, self._tag = comm, tag
        peers = [(me + step) % n_pes for step in range(1, n_pes)]  # each PE begins with a different PE
        self._silent = peers  # PEs whose message has not begun to arrive
        self._receives: dict[int, tuple[bytearray, MPI.Request]] = {}
        self._sends = {pe: comm.Isend((message, MPI.BYTE), pe, tag) for pe in peers}

    def complete(self) -> bool:
        """True once every PE has entered, and this PE's messages have been sent."""
        status = MPI.Status()
        for pe in self._silent:
            probe = partial(self._comm.Improbe, pe, self._tag, status)
            if matched := probe() or probe():  # in MPICH the first probe may only make progress
                buffer = bytearray(status.Get_count(MPI.BYTE))
                self._receives[pe] = buffer, matched.Irecv((buffer, MPI.BYTE))
        self._silent = [pe for pe in self._silent if pe not in self._receives]
        for pe, (buffer, request) in tuple(self._receives.items()):
            if pe not in self.messages and request.Test():
                self.messages[pe] = buffer
        self._sends = {pe: request for pe, request in self._sends.items() if not request.Test()}
        return not self.absent()

    def absent(self) -> list[int]:
        """The PEs that had not come, or not received this PE's message, at the last call of ``complete``, in order."""
        return [pe for pe in range(self._comm.size) if pe not in self.messages or pe in self._sends]


class Deadline:
    """The end of the wait at a meeting: ``timeout_s`` (0: never) without a sign of life.

    The time counts from the start, or from the last sign of life of the absent PE that has been silent longest,
    whichever is later.
    show: called repeatedly with the first absent PE
    """

    def __init__(self, control: Control | None, timeout_s: float, show: Callable[[int], None] | None = None):
        self._control, self._timeout_s, self._show = control, timeout_s or float("inf"), show
        self._since_ns = self._looked_ns = time.monotonic_ns()

    def passed(self, absent: Sequence[int]) -> bool:
        """True when the time is over.  It repeatedly shows the absent PEs' last sign of life as this PE's own."""
        now_ns = time.monotonic_ns()
        if now_ns - self._looked_ns < 1e9 * min(LIVENESS_INTERVAL_S, self._timeout_s / 4):
            return False
        self._looked_ns = now_ns
        if self._show and absent:
            self._show(absent[0])
        if self._control and absent:
            alive_ns = min(self._control.last_alive_ns(pe) for pe in absent)
            liveness.show_alive(alive_ns)
            self._since_ns = max(self._since_ns, alive_ns)
        words = liveness.monitor_words
        self._since_ns = max(self._since_ns, int(words[liveness.RESUMED_NS]))
        runs = now_ns - words[liveness.TICKED_NS] < liveness.LATE_NS  # else this process was just suspended
        return bool(runs and now_ns - self._since_ns > 1e9 * self._timeout_s)


class Meetings:
    """The meetings of the PEs of a communicator.

    timeout_s: longest wait for a PE without a sign of life in seconds; 0: no limit
    processes: processes of all PEs, once they are known;  control: the table of the node, once it exists
    show:      called repeatedly with the first PE that has not come; None: the table shows it
    """

    def __init__(self, comm: MPI.Intracomm, timeout_s: float, show: Callable[[int], None] | None = None):
        self.comm, self.timeout_s = comm, timeout_s
        self.processes: Sequence[Process] = ()
        self.control: Control | None = None
        self.me, self.n_pes, self._show = comm.Get_rank(), comm.Get_size(), show
        self._numbers = cycle(range(N_TAGS))

    def gather(self, obj: Any, what: str) -> list[Any]:
        """Every PE's ``obj``, in order of PE.  Collective.

        what: name of the call, the same on every PE
        Raises PeerTimeout, which names the absent PEs, and says what those of this node were doing.  Raises on every PE:
        CollectiveMismatchError if a PE has come to another meeting or has made other calls; TypeError or ValueError if
        a PE's object can't be pickled, or is too large.
        """
        control, calls, refusal = self.control, Recent(zlib.crc32(what.encode()), 1, (what,)), ""
        if control:
            control.enter(what)
            liveness.show_alive(time.monotonic_ns())
            calls = control.recent()
        try:
            message = pickle.dumps((calls, obj, ""), pickle.HIGHEST_PROTOCOL)
            if len(message) > MOST_BYTES:
                refusal = f"has {len(message)} bytes, and at most {MOST_BYTES} are allowed: gather it in parts"
        except Exception as error:  # the methods that pickle an object may raise any exception
            refusal = f"can't be pickled: {type(error).__name__}: {error}"
        if refusal:
            message = pickle.dumps((calls, None, refusal), pickle.HIGHEST_PROTOCOL)
        barrier = PolledBarrier(self.comm, ARRIVED + next(self._numbers), message)
        self.wait(barrier.complete, barrier.absent, what)
        if control:
            control.met()
        arrived = [pickle.loads(barrier.messages[pe]) for pe in range(self.n_pes)]
        if any(calls_of_pe.digest != calls.digest for calls_of_pe, _, _ in arrived):
            raise CollectiveMismatchError(_difference([calls_of_pe for calls_of_pe, _, _ in arrived]))
        refused = [f"the object of PE {pe} for {what} {why}" for pe, (_, _, why) in enumerate(arrived) if why]
        if refused:
            raise (TypeError if "pickled" in refused[0] else ValueError)("; ".join(refused[:4]))
        return [gathered for _, gathered, _ in arrived]

    def wait(self, complete: Callable[[], Any], absent: Callable[[], list[int]], what: str) -> None:
        """Poll until ``complete()``.  Raises PeerTimeout.  absent: returns the PEs that have not come"""
        deadline = Deadline(self.control, self.timeout_s, self.control.show_waiting if self.control else self._show)
        for _ in poll_times():
            if complete():
                return
            if deadline.passed(absent()):
                self._give_up(absent(), what)

    def arrive(self) -> None:
        """Wait for every PE without a message.  Collective.  Raises PeerTimeout."""
        arrivals = Arrivals(self.comm)
        self.wait(arrivals.complete, arrivals.absent, "init")
        self.processes = arrivals.processes()

    def duplicate(self) -> MPI.Intracomm:
        """A duplicate of the communicator, after ``arrive``.  Collective.  Raises PeerTimeout."""
        comm, request = self.comm.Idup()
        self.wait(request.Test, lambda: [pe for pe in range(self.n_pes) if halted(self.processes, self.me, pe)], "init")
        return comm

    def _give_up(self, absent: list[int], what: str) -> None:
        """Raise PeerTimeout.  The message begins with stopped and ended PEs, since the others may wait for these."""
        absent = sorted(absent, key=lambda pe: not halted(self.processes, self.me, pe))
        detail = "; ".join(map(self._describe, absent[:4]))
        more = f"; {len(absent)} PEs in all are missing" if len(absent) > 4 else ""
        peer = absent[0] if absent else -1
        raise PeerTimeout(self.me, peer, what, timeout_s=self.timeout_s, detail=detail and f": {detail}{more}.")

    def _describe(self, pe: int) -> str:
        if self.control:
            return self.control.describe(pe)
        return halted(self.processes, self.me, pe) or f"PE {pe}{on_host(self.processes, pe)} has not come"


def _difference(calls: Sequence[Recent]) -> str:
    """The message of a CollectiveMismatchError: the PEs' positions, and the first known difference.  calls: of each PE"""
    positions = {pe: f"in {recent.texts[-1]} (call {recent.number})" for pe, recent in enumerate(calls)}
    text = f"the PEs of a team make the same calls in the same order, but now {_grouped(positions)}"
    texts_of = [dict(zip(range(r.number, 0, -1), reversed(r.texts), strict=False)) for r in calls]
    first, last = max(map(min, texts_of)), min(recent.number for recent in calls)
    for number in range(first, last):
        texts = {pe: known[number] for pe, known in enumerate(texts_of)}
        if len(set(texts.values())) > 1:
            text += f"; call {number} differs: {_grouped(texts)}"
            break
    else:
        if len(set(positions.values())) == 1:
            text += f"; a call before call {first} differs"
    return text + ". PENNYMPI_DEBUG=1 compares each call before anything is sent"


def _grouped(texts: Mapping[int, str]) -> str:
    """A text such as "PE 0, PE 2 in gather; PE 1 in finalize"."""
    parts = []
    for text in dict.fromkeys(texts.values()):
        pes = [pe for pe, text_of_pe in texts.items() if text_of_pe == text]
        parts.append(f"{pes_in_words(pes)} {text}")
    return "; ".join(parts[:MOST_NAMED])
