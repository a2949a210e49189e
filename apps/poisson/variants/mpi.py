"""MPI: the host waits for the device, exchanges faces by MPI_Sendrecv and sums by MPI_Allreduce.

Faces are packed by NumPy or CuPy; on GPUs they pass through the host's memory, so that any MPI will do.
Read first: stream.py.
"""

import numpy as np
from mpi4py import MPI

from ...program.device import array_module, to_numpy
from .steps import Steps

AXES = "xyz"


class Mpi(Steps):
    """What most solvers do."""

    def exchange(self, name: str) -> None:
        grid, field, comm, xp = self.grid, self.fields[name], self.team.comm, array_module(self.team)
        self.team.synchronize(self.stream)
        for axis in AXES[: len(grid.own)]:
            for tag, (there, back) in enumerate(((f"{axis}-", f"{axis}+"), (f"{axis}+", f"{axis}-"))):
                to, source = (_rank(grid.neighbour(side)) for side in (there, back))
                face = np.ascontiguousarray(to_numpy(grid.boundary(field, there)))
                come = np.empty_like(face)
                comm.Sendrecv(face, to, tag, come, source, tag)
                if source != MPI.PROC_NULL:
                    grid.halo_of(field, back)[...] = xp.asarray(come)
        self.team.synchronize()

    def add_up(self, slot: int, first: int, last: int) -> None:
        words, totals = self.sums.part(slot, first, last)
        self.team.synchronize(self.stream)
        mine = to_numpy(words)
        total = np.empty_like(mine)
        self.team.comm.Allreduce(mine, total)
        totals[...] = array_module(self.team).asarray(total)
        self.team.synchronize()


def _rank(pe: int | None) -> int:
    return MPI.PROC_NULL if pe is None else pe
