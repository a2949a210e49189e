"""What the PEs of one node know of one another: a small table of int64 words in shared memory.

It is there for the moment when something goes wrong: it says who prints the one message,
and what every other PE was doing.  Both backends use it alike.
"""

from __future__ import annotations

import ctypes
import os
import time
from typing import Any, cast

import numpy as np
from mpi4py import MPI

from . import liveness

COMPUTING, WAITING, LEAVING = range(3)  # the states of a PE

# The table, in int64 words: a header, then one record for each PE of the node.  A record fills
# whole cache lines, so that a PE that counts its calls never slows another.  At _CLAIMED is a semaphore (sem_t).
_ABORT, _CLAIMED, _HEADER = 1, 4, 8
_PROGRESS, _STATE, _PID, _LIFE, _NAMES = 0, 1, 2, 3, 8  # within a record
_NAME, _MAX_NAMES = 4, 30  # words of one name, and how many names a PE can write down
_CALL = 32  # progress = calls entered * _CALL + number of the last one's name: one store tells both
_RECORD = _NAMES + _NAME * _MAX_NAMES
_libc = ctypes.CDLL(None)


class Control:
    """The table of one node.

    comm: the PEs that take part; making and closing a Control is collective over it.
    local: this PE's place on its node; n_local: how many PEs are on it; node: their communicator
    """

    def __init__(self, comm: MPI.Intracomm):
        self.me = comm.Get_rank()
        self.node = cast(MPI.Intracomm, comm.Split_type(MPI.COMM_TYPE_SHARED))
        self.local, self.n_local = self.node.Get_rank(), self.node.Get_size()
        size_bytes = 8 * (_HEADER + _RECORD * self.n_local)
        self._window = MPI.Win.Allocate_shared(size_bytes if self.local == 0 else 0, 8, comm=self.node)
        table = cast(Any, self._window.Shared_query(0)[0])
        self._words = memoryview(table).cast("B").cast("q")
        self._semaphore = ctypes.c_void_p(table.address + 8 * _CLAIMED)
        self._base = table.address
        if self.local == 0:
            np.asarray(self._words)[:] = 0
            _libc.sem_init(self._semaphore, 1, 1)  # for all processes that map it; one may take it
        self._window.Lock_all(MPI.MODE_NOCHECK)
        self.pes = self.node.allgather(self.me)  # also: nobody writes before the zeros are there
        self._names: dict[str, int] = {}
        self._calls = 0  # times _CALL
        self._record = _HEADER + _RECORD * self.local
        self._progress = self._record + _PROGRESS
        self._words[self._record + _PID] = os.getpid()
        self._place = {pe: number for number, pe in enumerate(self.pes)}
        liveness.open_word(self.life_address(self.me))
        liveness.show(time.monotonic_ns())
        forget_names(self.node)

    def enter(self, name: str) -> None:
        """Notes that this PE enters ``name``, a call that every PE makes (on every call: about 0.1 us)."""
        try:
            number = self._names[name]
        except KeyError:
            number = self._learn(name)
        self._calls = calls = self._calls + _CALL
        self._words[self._progress] = calls + number

    def _learn(self, name: str) -> int:
        """Writes a name down where the others can read it; past the last free place, as "..."."""
        number = min(len(self._names), _MAX_NAMES - 1)
        self._names[name] = number
        text = name.encode()[: 8 * _NAME] if len(self._names) < _MAX_NAMES else b"..."
        at = self._record + _NAMES + _NAME * number
        np.asarray(self._words[at : at + _NAME]).view(np.uint8)[:] = np.frombuffer(text.ljust(8 * _NAME, b"\0"), "u1")
        return number

    def set_state(self, state: int) -> None:
        """COMPUTING, WAITING (inside a wait of the library) or LEAVING (the program)."""
        self._words[self._record + _STATE] = state

    def claim(self) -> bool:
        """True for exactly one thread of the node's processes: the one that may print why the job ends.

        Nobody gives the semaphore back, and MPI is not asked: it may not be called from every thread.
        """
        return bool(_libc.sem_trywait(self._semaphore) == 0)

    @property
    def abort(self) -> bool:
        """True once a PE of the node has begun to end the job."""
        return self._words[_ABORT] != 0

    def set_abort(self) -> None:
        self._words[_ABORT] = 1

    @property
    def entered(self) -> int:
        """A number that grows with every call that this PE enters."""
        return self._calls

    def life_address(self, pe: int) -> int:
        """Address, in this process, of the word with the last sign of life of ``pe`` (0: a PE of another node)."""
        return self._base + 8 * (self._at(pe) + _LIFE) if pe in self._place else 0

    def life(self, pe: int) -> int:
        """When ``pe`` last showed a sign of life, in ns of CLOCK_MONOTONIC; 0 for a PE of another node."""
        return self._words[self._at(pe) + _LIFE] if pe in self._place else 0

    def calls(self, pe: int) -> int:
        """How many collective calls ``pe``, a PE of this node, has entered."""
        return self._words[self._at(pe) + _PROGRESS] // _CALL

    def state(self, pe: int) -> int:
        return self._words[self._at(pe) + _STATE]

    def call(self, pe: int) -> str:
        """The last call that ``pe`` entered, as "allreduce (call 7)"."""
        at, calls = self._at(pe), self.calls(pe)
        if not calls:
            return "no call yet"
        name = at + _NAMES + _NAME * (self._words[at + _PROGRESS] % _CALL)
        return f"{self._words[name : name + _NAME].tobytes().rstrip(bytes(1)).decode(errors='replace')} (call {calls})"

    def ahead(self) -> list[int]:
        """The PEs of the node that are in a call which this PE never entered."""
        return [pe for pe in self.pes if self.calls(pe) > self._calls // _CALL and self.state(pe) != LEAVING]

    def describe(self, pe: int) -> str:
        """What ``pe`` is doing, in words, as far as this node can see."""
        if pe not in self.pes:
            return f"PE {pe} is on another node"
        pid = self._words[self._at(pe) + _PID]
        life = _life(pid)
        if life in "TtZX":
            return f"PE {pe} (process {pid}) {'is stopped' if life in 'Tt' else 'has ended'} after {self.call(pe)}"
        if self.state(pe) == LEAVING:
            return f"PE {pe} (process {pid}) left the program after {self.call(pe)}"
        doing = "waits in" if self.state(pe) == WAITING else "last entered"
        return f"PE {pe} (process {pid}) {doing} {self.call(pe)}"

    def _at(self, pe: int) -> int:
        return _HEADER + _RECORD * self._place[pe]

    def close(self) -> None:
        """Collective: gives the table back."""
        liveness.close_word(self.life_address(self.me))
        self._words.release()
        self._window.Unlock_all()
        self._window.Free()
        self.node.Free()


def _life(pid: int) -> str:
    """The state letter of a process in /proc: T stopped, Z ended; "X" when there is none."""
    try:
        with open(f"/proc/{pid}/stat") as stat:
            return stat.read().rpartition(") ")[2][:1]
    except OSError:
        return "X" if os.path.exists("/proc/self/stat") else "?"


def forget_names(node: MPI.Intracomm) -> None:
    """Unlinks MPICH's start-up segment, which every PE of the node has mapped by now (collective).

    The memory lives as long as somebody maps it; without its name a killed job leaves nothing behind.
    Open MPI's segments keep their names: it attaches to them at the first message, not at start-up.
    """
    everywhere = set.intersection(*node.allgather(start_up_segments()))  # one that some PE lacks keeps its name
    if node.Get_rank() == 0:
        unlink(everywhere)
    node.Barrier()


def start_up_segments(prefix: str = "mpich_shm_") -> set[str]:
    """MPI's files in /dev/shm that this process has mapped and that still have their names."""
    mapped = set()
    try:
        with open("/proc/self/maps") as maps:
            for line in maps:
                path = line.split(None, 5)[-1].rstrip("\n")
                if path.startswith("/dev/shm/" + prefix) and not path.endswith(" (deleted)"):
                    mapped.add(path)
    except OSError:
        pass  # no /proc: nothing to forget
    return mapped


def unlink(paths: set[str]) -> None:
    for path in paths:
        try:
            os.unlink(path)
        except OSError:
            pass  # another PE was faster
