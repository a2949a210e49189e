"""MPI: the host waits for the device, exchanges faces by MPI_Sendrecv and sums by MPI_Allreduce.

Faces are packed by NumPy or CuPy; on GPUs they pass through the host's memory, so that any MPI will do.
Read first: stream.py.
"""

from typing import Any

import numpy as np
from mpi4py import MPI

from ...program.device import array_module, to_numpy
from .steps import Steps

AXES = "xyz"


class Mpi(Steps):
    """What most solvers do."""

    def exchange(self, name: str) -> None:
        """Axis after axis, with the halos of the axes before: so corners come along."""
        grid, field, comm, xp = self.grid, self.fields[name], self.team.comm, array_module(self.team)
        self.team.synchronize(self.stream)
        n = len(grid.own)
        for d in range(n):
            others = [slice(None) if k < d else slice(1, 1 + grid.own[k]) for k in range(n)]
            for tag, sign in enumerate("-+"):
                to, source = (_rank(grid.neighbour(AXES[d] + one)) for one in (sign, "-+"[1 - tag]))
                sent, received = (1, grid.own[d] + 1) if sign == "-" else (grid.own[d], 0)
                face = np.ascontiguousarray(to_numpy(field[(*others[:d], sent, *others[d + 1 :])]))
                come = np.empty_like(face)
                comm.Sendrecv(face, to, tag, come, source, tag)
                if source != MPI.PROC_NULL:
                    field[(*others[:d], received, *others[d + 1 :])] = xp.asarray(come)
        self.team.synchronize()

    def sum_fields(self, mine: Any, total: Any) -> None:
        self._sum(mine, total)

    def add_up(self, slot: int, first: int, last: int) -> None:
        self._sum(*self.sums.part(slot, first, last))

    def _sum(self, mine: Any, total: Any) -> None:
        self.team.synchronize(self.stream)
        sent = to_numpy(mine)
        come = np.empty_like(sent)
        self.team.comm.Allreduce(sent, come)
        total[...] = array_module(self.team).asarray(come)
        self.team.synchronize()


def _rank(pe: int | None) -> int:
    return MPI.PROC_NULL if pe is None else pe
