"""MPI without overlap: sweep all rows, wait for the device, exchange the edge rows, sum the norm.

Read first: ../textbook.py, then steps.py, mpi_rows.py and ../norm/norm.py.
"""

from typing import Any

from ..grid.problem import Problem
from ..norm.norm import MpiNorm, Norm
from .mpi_rows import MpiRows
from .steps import SweepBySweep


class Mpi(SweepBySweep):
    """MPI_Sendrecv of the edge rows and MPI_Allreduce of the norm; the host waits for both."""

    pipeline_depth = 0

    def __init__(self, team: Any, problem: Problem):
        super().__init__(team, problem)
        self.rows = MpiRows(self.fields)

    def make_norm(self) -> Norm:
        return MpiNorm(self.team)

    def sweep(self, slot: int | None) -> None:
        self.launch(self.all_rows, slot, self.stream)
        self.team.synchronize(self.stream)
        self.rows.up(self.fields.new)
        self.rows.down(self.fields.new)
