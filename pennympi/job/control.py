"""What the PEs of one node know of one another: a small table of int64 words in shared memory.

The table is read when something goes wrong.  It decides which process prints the one message, and it says what every
other PE was doing.  Both backends use it in the same way.
"""

from __future__ import annotations

import ctypes
import os
import time
from typing import Any, cast

import numpy as np
from mpi4py import MPI

from . import liveness
from .liveness import LOOKED, WAITS_FOR

COMPUTING, WAITING, LEAVING, DONE = range(4)  # the states of a PE; DONE: it may end at any time
NOBODY, ANYBODY = -2, -1  # for whom a PE waits: for no PE, for one that is not known
BELIEVED_NS = 200_000_000  # a wait that looked at the clock within this time goes on

# The table, in int64 words: a header, then one record for each PE of the node.  A record fills
# whole cache lines, so that a PE that counts its calls never slows another.  At _CLAIMED is a semaphore (sem_t).
_ABORT, _CLAIMED, _HEADER_WORDS = 1, 4, 8
_PROGRESS, _STATE, _PID, _ALIVE, _NAMES = 0, 1, 2, 3, 8  # within a record
_NAME_WORDS, _MAX_NAMES = 4, 30  # of one name; names that a PE can write down
_CALL = 32  # progress = calls entered * _CALL + the index of the last call's name: one store writes both
_RECORD_WORDS = _NAMES + _NAME_WORDS * _MAX_NAMES
_libc = ctypes.CDLL(None)


class Control:
    """The table of one node.  Making and closing a Control are collective over ``comm``.

    me:      this PE's rank in ``comm``;  pes: the ranks in ``comm`` of the PEs of this node
    node:    the communicator of these PEs;  local, n_local: this PE's rank in it, and its size
    """

    def __init__(self, comm: MPI.Intracomm):
        self.me, self._n_pes = comm.Get_rank(), comm.Get_size()
        self.node = cast(MPI.Intracomm, comm.Split_type(MPI.COMM_TYPE_SHARED))
        self.local, self.n_local = self.node.Get_rank(), self.node.Get_size()
        size_bytes = 8 * (_HEADER_WORDS + _RECORD_WORDS * self.n_local)
        self._window = MPI.Win.Allocate_shared(size_bytes if self.local == 0 else 0, 8, comm=self.node)
        table = cast(Any, self._window.Shared_query(0)[0])
        self._words = memoryview(table).cast("B").cast("q")
        self._semaphore = ctypes.c_void_p(table.address + 8 * _CLAIMED)
        self._base = table.address
        if self.local == 0:
            np.asarray(self._words)[:] = 0
            _libc.sem_init(self._semaphore, 1, 1)  # for all processes that map it; one may take it
        self._window.Lock_all(MPI.MODE_NOCHECK)
        self.pes = self.node.allgather(self.me)  # also a barrier: no PE writes before the table is cleared
        self._names: dict[str, int] = {}
        self._calls = 0  # calls entered * _CALL
        self._record = _HEADER_WORDS + _RECORD_WORDS * self.local
        self._progress = self._record + _PROGRESS
        self._words[self._record + _PID] = os.getpid()
        self._record_of = {pe: number for number, pe in enumerate(self.pes)}
        liveness.add_word(self.last_alive_address(self.me))
        liveness.show_alive(time.monotonic_ns())
        forget_names(self.node)

    def enter(self, name: str) -> None:
        """Write down that this PE enters ``name``, a call that every PE makes.  Costs about 0.1 us."""
        try:
            number = self._names[name]
        except KeyError:
            number = self._learn(name)
        self._calls = calls = self._calls + _CALL
        self._words[self._progress] = calls + number

    def _learn(self, name: str) -> int:
        """The index of a new name, written where the others can read it (as "..." when the record is full)."""
        number = min(len(self._names), _MAX_NAMES - 1)
        self._names[name] = number
        text = name.encode()[: 8 * _NAME_WORDS] if len(self._names) < _MAX_NAMES else b"..."
        at = self._record + _NAMES + _NAME_WORDS * number
        padded = text.ljust(8 * _NAME_WORDS, b"\0")
        np.asarray(self._words[at : at + _NAME_WORDS]).view(np.uint8)[:] = np.frombuffer(padded, np.uint8)
        return number

    def set_state(self, state: int) -> None:
        """Write what this PE is doing: COMPUTING, WAITING (inside a wait of the library) or LEAVING (the program)."""
        self._words[self._record + _STATE] = state

    def claim(self) -> bool:
        """True for exactly one thread of all processes of the node: the one that may print why the job ends.

        The semaphore is never released.  MPI is not called, because not every thread may call it.
        """
        return bool(_libc.sem_trywait(self._semaphore) == 0)

    @property
    def abort(self) -> bool:
        """True once a PE of the node has begun to end the job."""
        return self._words[_ABORT] != 0

    def set_abort(self) -> None:
        """Tell the node that this PE ends the job."""
        self._words[_ABORT] = 1

    @property
    def entered(self) -> int:
        """A number that grows with every call that this PE enters."""
        return self._calls

    def last_alive_address(self, pe: int) -> int:
        """Address, in this process, of the word that ``last_alive_ns`` reads; 0 for a PE of another node."""
        return self._base + 8 * (self._at(pe) + _ALIVE) if pe in self._record_of else 0

    def last_alive_ns(self, pe: int) -> int:
        """When ``pe`` last showed a sign of life, in ns of CLOCK_MONOTONIC; 0 for a PE of another node."""
        return self._words[self._at(pe) + _ALIVE] if pe in self._record_of else 0

    def calls(self, pe: int) -> int:
        """How many collective calls ``pe``, a PE of this node, has entered."""
        return self._words[self._at(pe) + _PROGRESS] // _CALL

    def state(self, pe: int) -> int:
        """COMPUTING, WAITING or LEAVING, for a PE of this node."""
        return self._words[self._at(pe) + _STATE]

    def call(self, pe: int) -> str:
        """The last call that ``pe``, a PE of this node, entered: "allreduce (call 7)"."""
        at, calls = self._at(pe), self.calls(pe)
        if not calls:
            return "no call yet"
        first = at + _NAMES + _NAME_WORDS * (self._words[at + _PROGRESS] % _CALL)
        name = self._words[first : first + _NAME_WORDS].tobytes().rstrip(b"\0").decode(errors="replace")
        return f"{name} (call {calls})"

    def pid(self, pe: int) -> int:
        """The process of ``pe``, a PE of this node."""
        return self._words[self._at(pe) + _PID]

    def show_waiting(self, pe: int) -> None:
        """Write that this PE waits for ``pe`` now.  The waits of host kernels do so themselves."""
        self._words[self._record + _ALIVE + WAITS_FOR] = pe
        self._words[self._record + _ALIVE + LOOKED] = time.monotonic_ns()

    def waits_for(self, pe: int) -> int:
        """The PE that ``pe``, a PE of this node, waits for; ANYBODY, or NOBODY."""
        looked_ns = self._words[self._at(pe) + _ALIVE + LOOKED]
        waits = time.monotonic_ns() - looked_ns < BELIEVED_NS
        return self._words[self._at(pe) + _ALIVE + WAITS_FOR] if waits else NOBODY

    def in_vain(self) -> list[int]:
        """The PEs of this node that wait for this PE, which is leaving, directly or through other PEs."""
        waits = {pe: self.waits_for(pe) for pe in self.pes}
        if waits.pop(self.me) != NOBODY:
            return []  # what they wait for may still come
        gone = {self.me, *(pe for pe in self.pes if self.state(pe) >= LEAVING)}
        nobody_comes = len(self.pes) == self._n_pes and all(pe in gone or whom != NOBODY for pe, whom in waits.items())
        found: list[int] = []
        while more := [
            pe
            for pe, whom in waits.items()
            if pe not in (*gone, *found) and (whom in (*gone, *found) or (whom == ANYBODY and nobody_comes))
        ]:
            found += more
        return found

    def describe(self, pe: int) -> str:
        """What ``pe`` is doing, in words, as far as this node knows."""
        if pe not in self.pes:
            return f"PE {pe} is on another node"
        pid = self._words[self._at(pe) + _PID]
        state = _process_state(pid)
        if state in "TtZX":
            return f"PE {pe} (process {pid}) {'is stopped' if state in 'Tt' else 'has ended'} after {self.call(pe)}"
        if self.state(pe) >= LEAVING:
            return f"PE {pe} (process {pid}) left the program after {self.call(pe)}"
        whom = self.waits_for(pe)
        waits = f"waits for {f'PE {whom}' if whom >= 0 else 'a signal'}; it last entered"
        doing = "waits in" if self.state(pe) == WAITING else "last entered" if whom == NOBODY else waits
        return f"PE {pe} (process {pid}) {doing} {self.call(pe)}"

    def _at(self, pe: int) -> int:
        return _HEADER_WORDS + _RECORD_WORDS * self._record_of[pe]

    def close(self) -> None:
        """Free the table.  Collective."""
        liveness.remove_word(self.last_alive_address(self.me))
        self._words.release()
        self._window.Unlock_all()
        self._window.Free()
        self.node.Free()


def _process_state(pid: int) -> str:
    """The state letter of a process in /proc: T stopped, Z ended; "X" if there is no such process, "?" without /proc."""
    try:
        with open(f"/proc/{pid}/stat") as stat:
            return stat.read().rpartition(") ")[2][:1]
    except OSError:
        return "X" if os.path.exists("/proc/self/stat") else "?"


def forget_names(node: MPI.Intracomm) -> None:
    """Unlink MPICH's start-up segment, which every PE of the node has mapped by now.  Collective over ``node``.

    The memory stays until the last process unmaps it; without a name, a killed job leaves nothing behind.
    Open MPI's segments keep their names, because it attaches to them at the first message, not at start-up.
    """
    everywhere = set.intersection(*node.allgather(start_up_segments()))  # mapped by every PE
    if node.Get_rank() == 0:
        unlink(everywhere)
    node.Barrier()


def start_up_segments(prefix: str = "mpich_shm_") -> set[str]:
    """Paths in /dev/shm that begin with ``prefix``, that this process has mapped, and that are not unlinked."""
    mapped = set()
    try:
        with open("/proc/self/maps") as maps:
            for line in maps:
                path = line.split(None, 5)[-1].rstrip("\n")
                if path.startswith("/dev/shm/" + prefix) and not path.endswith(" (deleted)"):
                    mapped.add(path)
    except OSError:
        pass  # there is no /proc
    return mapped


def unlink(paths: set[str]) -> None:
    """Remove the files that are still there."""
    for path in paths:
        try:
            os.unlink(path)
        except OSError:
            pass  # another PE was faster
