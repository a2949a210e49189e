"""MPI with overlap: the edge rows are swept on streams of their own, and exchanged while the inner rows are swept.

    push_top stream      top row    | MPI_Sendrecv up, when the row is done
    push_bottom stream   bottom row | MPI_Sendrecv down, when the row is done
    stream               inner rows ......................................... | norm

Read first: mpi.py.
"""

from typing import Any

from ..grid.problem import Problem
from .mpi import Mpi


class MpiOverlap(Mpi):
    """The streams of the edge rows have high priority, so that their few blocks run before those of the inner rows."""

    pipeline_depth = 1

    def __init__(self, team: Any, problem: Problem):
        super().__init__(team, problem)
        self.push_top, self.push_bottom = team.stream(priority="high"), team.stream(priority="high")
        self._inner_done, self._top_done, self._bottom_done = (
            stream.record() for stream in (self.stream, self.push_top, self.push_bottom)
        )

    def sweep(self, slot: int | None) -> None:
        # The edge rows read what the inner rows of the last sweep wrote, and overwrite what these read.
        for push in (self.push_top, self.push_bottom):
            push.wait_event(self._inner_done)
        self.launch(self.inner_rows, slot, self.stream)
        self._inner_done = self.stream.record(self._inner_done)
        self.launch(self.top_row, slot, self.push_top)
        if self.fields.slab.rows > 1:  # else it is the top row
            self.launch(self.bottom_row, slot, self.push_bottom)
        self._top_done = self.push_top.record(self._top_done)
        self._bottom_done = self.push_bottom.record(self._bottom_done)
        self.stream.wait_event(self._top_done)  # the next inner rows, and the norm, need the edge rows
        self.stream.wait_event(self._bottom_done)
        self.team.synchronize(self.push_top)
        self.rows.up(self.fields.new)
        self.team.synchronize(self.push_bottom)
        self.rows.down(self.fields.new)
