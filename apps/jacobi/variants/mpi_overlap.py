"""MPI with overlap: the edge rows are swept on streams of their own, and exchanged while the inner rows are swept.

    push_up stream     first row  | MPI_Sendrecv up, when the row is done
    push_down stream   last row   | MPI_Sendrecv down, when the row is done
    stream             inner rows ......................................... | norm

Read first: mpi.py.
"""

from typing import Any

from ..problem import Problem
from .mpi import Mpi


class MpiOverlap(Mpi):
    """The streams of the edge rows have high priority, so that their few blocks run before those of the inner rows."""

    def __init__(self, team: Any, problem: Problem):
        super().__init__(team, problem)
        self.push_up, self.push_down = team.stream(priority="high"), team.stream(priority="high")
        self._inner_done = self.stream.record()

    def sweep(self, slot: int | None) -> None:
        # The edge rows read what the inner rows of the last sweep wrote, and overwrite what these read.
        self.push_up.wait_event(self._inner_done)
        self.push_down.wait_event(self._inner_done)
        rows, new = self.fields.rows, self.fields.new
        self.launch(2, rows, slot, self.stream)
        self._inner_done = self.stream.record(self._inner_done)
        self.launch(1, 2, slot, self.push_up)
        self.launch(max(rows, 2), rows + 1, slot, self.push_down)  # the only row is the first one
        self.stream.wait_event(self.push_up.record())  # the next inner rows, and the norm, need the edge rows
        self.stream.wait_event(self.push_down.record())
        self.team.synchronize(self.push_up)
        self.rows.up(new)
        self.team.synchronize(self.push_down)
        self.rows.down(new)
