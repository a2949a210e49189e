"""The simulator's counterpart of mpi4py's communicator: calls of the host that move Python objects."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

from greenlet import getcurrent
from mpi4py import MPI

from ..errors import Unsupported
from .device import Machine
from .job import Group


class Comm:
    """A communicator of simulated PEs.  All PEs share the object: a call belongs to the PE that runs.

    pes: numbers of the PEs in the machine
    """

    def __init__(self, machine: Machine, pes: Sequence[int]):
        self._machine, self.pes, self._group = machine, pes, Group(machine, pes)
        self._teams: list[Group] = []
        self._inits = Counter[int]()
        self._parts: dict[Any, Comm] = {}  # {(number of the call of Split, colour): its result}

    @property
    def rank(self) -> int:
        """Rank of the calling PE."""
        program: Any = getcurrent()
        return self.pes.index(program.pe)

    @property
    def size(self) -> int:
        return len(self.pes)

    def new_team(self) -> Group:
        """The group of the next team of the calling PE, the same for all PEs."""
        number = self._inits[self.rank]
        self._inits[self.rank] += 1
        if number == len(self._teams):
            self._teams.append(Group(self._machine, self.pes))
        return self._teams[number]

    def Split(self, color: int = 0, key: int = 0) -> "Comm":
        """The communicator of the PEs of a colour, in the order of their keys."""
        arguments = self._gather((color, key), "Split")
        order = sorted(range(self.size), key=lambda k: (arguments[k][1], k))
        pes = [self.pes[k] for k in order if arguments[k][0] == color]
        return self._parts.setdefault((self._group.n_meetings[self.rank], color), Comm(self._machine, pes))

    def Get_rank(self) -> int:
        return self.rank

    def Get_size(self) -> int:
        return self.size

    def allgather(self, obj: Any) -> list[Any]:
        return self._gather(obj, "allgather")

    def gather(self, obj: Any, root: int = 0) -> list[Any] | None:
        gathered = self._gather(obj, "gather")
        return gathered if self.rank == root else None

    def bcast(self, obj: Any = None, root: int = 0) -> Any:
        return self._gather(obj, "bcast")[root]

    def alltoall(self, obj: Any) -> list[Any]:
        return [objects[self.rank] for objects in self._gather(obj, "alltoall")]

    def allreduce(self, obj: Any, op: Any = MPI.SUM) -> Any:
        total, *addends = self._gather(obj, "allreduce")
        for addend in addends:
            total = op(total, addend)
        return total

    def reduce(self, obj: Any, op: Any = MPI.SUM, root: int = 0) -> Any:
        total = self.allreduce(obj, op)
        return total if self.rank == root else None

    def barrier(self) -> None:
        self._gather(None, "barrier")

    Barrier = barrier

    def Dup(self) -> "Comm":
        """Return this communicator."""
        return self

    def Free(self) -> None:
        """Do nothing."""

    def _gather(self, obj: Any, what: str) -> list[Any]:
        self._group.enter(self.rank, what)
        return self._group.gather(self.rank, obj, f"{what} of the communicator")

    def __getattr__(self, name: str) -> Any:
        raise Unsupported(
            f"the communicator of a simulated team has no {name}: use allgather, bcast, barrier or similar calls"
        )
