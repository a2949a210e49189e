"""The halo exchange: rows into the neighbours' memory, with signals and no barrier.

Why two fields are enough.  Sweep k writes a neighbour's halo in the field which that
neighbour last read, halo included, in its sweep k-1.  It does so only after it saw the
neighbour's signal of sweep k-1, and the neighbour sends that after its edge rows of k-1,
the only rows that read halos.  The row sent in sweep k is overwritten in sweep k+2, after
a signal of sweep k+1, which the neighbour sends after row k has arrived.
"""

from dataclasses import dataclass
from typing import Any

from .fields import Fields


@dataclass(frozen=True)
class Put:
    """Own rows, and the halo of PE ``pe`` that they go to, by its local name.  upward: to the PE above"""

    halo: Any
    rows: Any
    pe: int
    upward: bool


def edge_puts(fields: Fields, field: Any) -> list[Put]:
    """Both puts of one of the fields.  Slabs differ in height, and so do the places of their lower halos."""
    slab, depth, end = fields.slab, fields.depth, fields.slab.rows + fields.depth
    below_them = fields.parts[slab.top].rows + depth
    return [
        Put(field[below_them : below_them + depth], field[depth : 2 * depth], slab.top, True),
        Put(field[:depth], field[end - depth : end], slab.bottom, False),
    ]


class Halo:
    """Sends this PE's outermost rows, and waits for the rows of the neighbours.

    Signals count exchanges and are never reset.  There are two, for what comes from above
    and from below: the neighbours may be the same PE, or this one.  Each has two words, for
    odd and for even exchanges: a neighbour that sent k had received k-1, so that, when this
    PE sends it k+1, nothing but k can still be under way, which has the other word.
    """

    def __init__(self, team: Any, fields: Fields, stream: Any):
        self._team, self._stream, self._slab = team, stream, fields.slab
        arrivals = team.signals(4)
        self._from_above, self._from_below = (arrivals[0:1], arrivals[1:2]), (arrivals[2:3], arrivals[3:4])
        self._puts = {id(array): edge_puts(fields, array) for array in fields.arrays}
        self._exchanges = 0

    def send(self, field: Any) -> None:
        """Enqueue the puts of one of the fields."""
        self._exchanges += 1
        for put in self._puts[id(field)]:
            arrivals = self._from_below if put.upward else self._from_above  # as the receiver sees it
            arrival = arrivals[self._exchanges & 1]
            self._team.put_signal(put.halo, put.rows, arrival, self._exchanges, put.pe, stream=self._stream)

    def receive(self) -> None:
        """Hold the stream until both halos have arrived."""
        for arrivals, source in ((self._from_above, self._slab.top), (self._from_below, self._slab.bottom)):
            self._team.wait_signal(arrivals[self._exchanges & 1], self._exchanges, source=source, stream=self._stream)
