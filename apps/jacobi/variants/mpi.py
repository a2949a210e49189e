"""MPI: sweep the rows, exchange the edge rows when they are done, sum the norm.  With overlap:

    push stream   edge rows  | MPI_Sendrecv up, then down
    stream        inner rows ............................ | norm

Read first: ../textbook.py, then ../solver.py, ../loops.py and mpi_rows.py.
"""

from typing import Any

from ..loops import HostLoop
from ..problem import Problem
from .mpi_rows import MpiRows


class Mpi(HostLoop):
    """MPI_Sendrecv of the edge rows and MPI_Allreduce of the norm; the host waits for both."""

    def __init__(self, team: Any, problem: Problem):
        super().__init__(team, problem)
        self._rows = MpiRows(self.fields)

    def exchange(self, stream: Any) -> None:
        self.team.synchronize(stream)
        self._rows.exchange(self.fields.new)


class MpiOverlap(Mpi):
    """The same beside the inner rows."""

    overlaps = True
