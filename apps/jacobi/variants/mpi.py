"""MPI without overlap: sweep all rows, wait for the device, exchange the edge rows, sum the norm.

Read first: ../textbook.py, then ../solver.py and mpi_rows.py.
"""

from typing import Any

from ..problem import Problem
from ..solver import SweepBySweep
from .mpi_rows import MpiRows


class Mpi(SweepBySweep):
    """MPI_Sendrecv of the edge rows and MPI_Allreduce of the norm; the host waits for both."""

    norm_by = "mpi"

    def __init__(self, team: Any, problem: Problem):
        super().__init__(team, problem)
        self.rows = MpiRows(self.fields)

    def sweep(self, slot: int | None) -> None:
        self.launch(1, self.fields.rows + 1, slot, self.stream)
        self.team.synchronize(self.stream)
        self.rows.up(self.fields.new)
        self.rows.down(self.fields.new)
