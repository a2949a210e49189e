"""NVSHMEM with overlap: the edge rows first, and their exchange hidden behind the inner rows.

    push stream   edge rows | put_signal to both neighbours | wait_signal from both
    stream        inner rows ...................................................... | norm (when it is due)

Signals between neighbours take the place of a barrier of all PEs.
Read first: ../textbook.py, which does the same, then steps.py and ../grid/halo.py.
"""

from typing import Any

from ..grid.halo import Halo
from ..grid.problem import Problem
from .steps import SweepBySweep


class NvshmemOverlap(SweepBySweep):
    """Two streams and two events.  ``../grid/halo.py`` says why two fields are enough."""

    def __init__(self, team: Any, problem: Problem):
        super().__init__(team, problem)
        self.push = team.stream(priority="high")
        self.halo = Halo(team, self.fields, self.push)
        self._inner_done, self._edges_done = self.stream.record(), self.push.record()

    def sweep(self, slot: int | None) -> None:
        # The edge rows read and overwrite what inner rows of the sweep before wrote and read ...
        self.push.wait_event(self._inner_done)
        self.launch(self.edge_rows, slot, self.push)
        self._edges_done = self.push.record(self._edges_done)
        self.halo.send(self.fields.new)
        self.launch(self.inner_rows, slot, self.stream)
        self._inner_done = self.stream.record(self._inner_done)
        # ... and the next inner rows (and the norm) need these edge rows, but no halo.
        self.stream.wait_event(self._edges_done)
        self.halo.receive()

    def finish(self) -> None:
        self.team.synchronize(self.push)
        super().finish()
