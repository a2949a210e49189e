"""The halo exchange: puts of rows into the neighbours' memory, with signals and without a barrier.

Two fields are enough.  In sweep k a PE writes a neighbour's halo, in the field that the neighbour last read in its sweep
k-1.  It does so only after it has seen the neighbour's signal of sweep k-1, which the neighbour sends after its edge rows
of k-1, the only rows that read halos.  The row that was sent in sweep k is overwritten in sweep k+2, after a signal of
sweep k+1, which the neighbour sends after row k has arrived.
"""

from typing import Any

from .fields import Fields


def edge_puts(fields: Fields, field: Any) -> list[tuple[Any, Any, int]]:
    """(halo, row, PE) of the puts of a field's first row up, and of its last row down.

    A halo is given as the same row of this PE's array.  Where a PE's lower halo is depends on the height of its slab.
    """
    slab = fields.slab
    below_them = fields.parts[slab.top].rows + 1
    return [(field[below_them], field[1], slab.top), (field[0], field[slab.rows], slab.bottom)]


class Halo:
    """Sends this PE's outermost rows, and waits for those of the neighbours.

    Signals count exchanges and are never reset.  There is one for each side, since both neighbours may be the same PE,
    or this one.  Each has two words, for odd and for even exchanges: a neighbour that sent exchange k had received k-1,
    so when this PE sends it k+1, only k can still be under way, and that uses the other word.
    """

    def __init__(self, team: Any, fields: Fields, stream: Any):
        self._team, self._stream, self._slab = team, stream, fields.slab
        arrivals = team.signals(4)
        self._from_above, self._from_below = (arrivals[0:1], arrivals[1:2]), (arrivals[2:3], arrivals[3:4])
        self._puts = {id(array): edge_puts(fields, array) for array in fields.arrays}
        self._exchanges = 0

    def send(self, field: Any) -> None:
        """Enqueue the puts of a field."""
        self._exchanges += 1
        sides = self._from_below, self._from_above  # as the receivers see it
        for (halo, row, pe), arrivals in zip(self._puts[id(field)], sides, strict=True):
            arrival = arrivals[self._exchanges & 1]
            self._team.put_signal(halo, row, arrival, self._exchanges, pe, stream=self._stream)

    def receive(self) -> None:
        """Enqueue a wait for both halos."""
        for arrivals, source in ((self._from_above, self._slab.top), (self._from_below, self._slab.bottom)):
            self._team.wait_signal(arrivals[self._exchanges & 1], self._exchanges, source=source, stream=self._stream)
