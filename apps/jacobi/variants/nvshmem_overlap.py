"""NVSHMEM with overlap: the edge rows first, and their exchange hidden behind the inner rows.

    push stream   edge rows | put_signal to both neighbours | wait_signal from both
    stream        inner rows ...................................................... | norm (when it is due)

Signals between neighbours take the place of a barrier of all PEs.
Read first: ../textbook.py, which does the same, then ../solver.py and ../fields.py.
"""

from typing import Any

from ..problem import Problem
from ..solver import SweepBySweep


class NvshmemOverlap(SweepBySweep):
    """Two fields are enough.  In sweep k a PE writes a neighbour's halo, in the field that the neighbour last read in its
    sweep k-1.  It does so only after it has seen the neighbour's signal of sweep k-1, which the neighbour sends after its
    edge rows of k-1, the only rows that read halos.  The row that was sent in sweep k is overwritten in sweep k+2, after
    a signal of sweep k+1, which the neighbour sends after row k has arrived.

    Signals count exchanges and are never reset.  There is one for each side, since both neighbours may be the same PE.
    Each has two words, for odd and for even exchanges, as those of two may be under way, and overtake one another.
    """

    def __init__(self, team: Any, problem: Problem):
        super().__init__(team, problem)
        self.push, self.exchanges, words = team.stream(priority="high"), 0, team.signals(4)
        self.words = ((words[0:1], words[1:2]), (words[2:3], words[3:4]))  # (from above, from below) by parity
        self._inner_done, self._edges_done = self.stream.record(), self.push.record()

    def sweep(self, slot: int | None) -> None:
        # The edge rows read and overwrite what inner rows of the sweep before wrote and read ...
        self.push.wait_event(self._inner_done)
        self.launch_edges(slot, self.push)
        self._edges_done = self.push.record(self._edges_done)
        self.send()
        self.launch(2, self.fields.rows, slot, self.stream)
        self._inner_done = self.stream.record(self._inner_done)
        # ... and the next inner rows (and the norm) need these edge rows, but no halo.
        self.stream.wait_event(self._edges_done)
        self.receive()

    def send(self) -> None:
        """Enqueue the puts of the new edge rows, whose signals are given as the receivers see them."""
        self.exchanges += 1
        from_above, from_below = self.words[self.exchanges % 2]
        for (halo, row, pe), arrival in zip(self.fields.puts, (from_below, from_above), strict=True):
            self.team.put_signal(halo, row, arrival, self.exchanges, pe, stream=self.push)

    def receive(self) -> None:
        """Enqueue a wait for both halos."""
        for arrival, pe in zip(self.words[self.exchanges % 2], (self.fields.up, self.fields.down), strict=True):
            self.team.wait_signal(arrival, self.exchanges, source=pe, stream=self.push)

    def finish(self) -> None:
        self.team.synchronize(self.push)
        super().finish()
