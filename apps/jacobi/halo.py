"""The halo exchange: rows into the neighbours' memory, with signals and no barrier.

Why two fields are enough.  Sweep k writes a neighbour's halo in the field which that
neighbour last read, halo included, in its sweep k-1.  It does so only after it saw the
neighbour's signal of sweep k-1, and the neighbour sends that after its edge rows of k-1,
the only rows that read halos.  The row sent in sweep k is overwritten in sweep k+2, after
a signal of sweep k+1, which the neighbour sends after row k has arrived.
"""

from typing import Any

from .slab import Slab


class Halo:
    """Sends this PE's first and last row, and waits for the rows of the neighbours.

    Signals count exchanges and are never reset.  There are two, for what comes from above
    and from below: the neighbours may be the same PE, or this one.
    """

    def __init__(self, team: Any, parts: list[Slab], stream: Any):
        self._team, self._stream, self._slab = team, stream, parts[team.me]
        self._rows_above = parts[self._slab.top].rows
        arrivals = team.signals(2)
        self._from_above, self._from_below = arrivals[0:1], arrivals[1:2]
        self._exchanges = 0

    def prepare(self, field: Any) -> list[tuple[Any, Any, Any, int]]:
        """(halo, row, signal, PE) of both puts; halo and signal are the receiver's, by local name.

        field: symmetric (most rows + 2, nx).  Slabs differ in height, and so do the places of
        their last halo rows.
        """
        slab = self._slab
        return [
            (field[self._rows_above + 1], field[1], self._from_below, slab.top),
            (field[0], field[slab.rows], self._from_above, slab.bottom),
        ]

    def send(self, puts: list[tuple[Any, Any, Any, int]]) -> None:
        """Enqueue the puts of ``prepare``."""
        self._exchanges += 1
        for halo, row, signal, pe in puts:
            self._team.put_signal(halo, row, signal, self._exchanges, pe, stream=self._stream)

    def receive(self) -> None:
        """Hold the stream until both halos have arrived."""
        self._team.wait_signal(self._from_above, self._exchanges, source=self._slab.top, stream=self._stream)
        self._team.wait_signal(self._from_below, self._exchanges, source=self._slab.bottom, stream=self._stream)
