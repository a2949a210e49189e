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

    Signals count exchanges and are never reset.  There are two, for what comes from above and from below (the
    neighbours may be the same PE, or this one), for every second exchange: messages may overtake each other, and
    a neighbour that sends exchange k+2 has this PE's of k+1, and so its own of k was taken.
    """

    def __init__(self, team: Any, fields: Fields, stream: Any):
        self._team, self._stream, self._slab = team, stream, fields.slab
        arrivals = team.signals(4)
        self._from_above, self._from_below = ([arrivals[k : k + 1] for k in pair] for pair in ((0, 1), (2, 3)))
        self._puts = {id(array): edge_puts(fields, array) for array in fields.arrays}
        self._exchanges = 0

    def send(self, field: Any) -> None:
        """Enqueue the puts of one of the fields."""
        self._exchanges += 1
        for put in self._puts[id(field)]:
            arrival = self._from_below if put.upward else self._from_above  # as the receiver sees it
            word = arrival[self._exchanges % 2]
            self._team.put_signal(put.halo, put.rows, word, self._exchanges, put.pe, stream=self._stream)

    def receive(self) -> None:
        """Hold the stream until both halos have arrived."""
        for arrival, source in ((self._from_above, self._slab.top), (self._from_below, self._slab.bottom)):
            self._team.wait_signal(arrival[self._exchanges % 2], self._exchanges, source=source, stream=self._stream)
