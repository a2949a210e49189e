"""The halo exchange: rows into the neighbours' memory, with signals and no barrier.

Why two fields are enough.  Sweep k writes a neighbour's halo in the field which that
neighbour last read, halo included, in its sweep k-1.  It does so only after it saw the
neighbour's signal of sweep k-1, and the neighbour sends that after its edge rows of k-1,
the only rows that read halos.  The row sent in sweep k is overwritten in sweep k+2, after
a signal of sweep k+1, which the neighbour sends after row k has arrived.
"""

from typing import Any

from .fields import Fields


class Halo:
    """Sends this PE's outermost rows, and waits for the rows of the neighbours.

    Signals count exchanges and are never reset.  There are two, for what comes from above
    and from below: the neighbours may be the same PE, or this one.
    """

    def __init__(self, team: Any, fields: Fields, stream: Any):
        self._team, self._stream, self._slab = team, stream, fields.slab
        arrivals = team.signals(2)
        self._from_above, self._from_below = arrivals[0:1], arrivals[1:2]
        self._puts = {id(array): self._prepare(array, fields) for array in fields.arrays}
        self._exchanges = 0

    def _prepare(self, field: Any, fields: Fields) -> list[tuple[Any, Any, Any, int]]:
        """(halo, rows, signal, PE) of both puts; halo and signal are the receiver's, by local name.

        Slabs differ in height, and so do the places of their lower halos.
        """
        slab, depth, end = self._slab, fields.depth, fields.slab.rows + fields.depth
        below_them = fields.parts[slab.top].rows + depth
        return [
            (field[below_them : below_them + depth], field[depth : 2 * depth], self._from_below, slab.top),
            (field[:depth], field[end - depth : end], self._from_above, slab.bottom),
        ]

    def send(self, field: Any) -> None:
        """Enqueue the puts of one of the fields."""
        self._exchanges += 1
        for halo, rows, signal, pe in self._puts[id(field)]:
            self._team.put_signal(halo, rows, signal, self._exchanges, pe, stream=self._stream)

    def receive(self) -> None:
        """Hold the stream until both halos have arrived."""
        self._team.wait_signal(self._from_above, self._exchanges, source=self._slab.top, stream=self._stream)
        self._team.wait_signal(self._from_below, self._exchanges, source=self._slab.bottom, stream=self._stream)
