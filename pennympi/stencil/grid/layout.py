"""How a field lies in memory.  No other file computes it."""

import math
from typing import NamedTuple

from .decomposition import Decomposition, Sizes, with_halo

LINE_BYTES = 64  # the address of the first own point of each row, and a row's storage, are multiples of it


class Layout(NamedTuple):
    """The rows of one PE's field.

    shape:  shape of the array, with the halo
    lead:   number of elements of a row's storage before its first point; kernels may read them
    pitch:  number of elements from a row to the next row
    first:  number of elements from the start of the allocation to the array's first element, the same on every PE
    number: number of elements of the allocation, the same on every PE; at least ``pitch`` of them lie before the first
            row, and after the last row
    """

    shape: Sizes
    lead: int
    pitch: int
    first: int
    number: int
    item_bytes: int

    @property
    def stored(self) -> Sizes:
        """The shape of the array's storage, whose rows have ``pitch`` elements."""
        return *self.shape[:-1], self.pitch

    @property
    def strides(self) -> Sizes:
        """Bytes from a point to the next point, by dimension."""
        n = len(self.shape)
        return *(math.prod(self.stored[d + 1 :]) * self.item_bytes for d in range(n - 1)), self.item_bytes


def layout_of(grid: Decomposition, pe: int, item_bytes: int) -> Layout:
    """The layout of a PE's fields with elements of ``item_bytes`` bytes."""
    line, largest = LINE_BYTES // item_bytes, with_halo(grid.most, grid.halo)
    lead = -grid.halo[-1] % line

    def pitch_of(points: int) -> int:
        return -(-(lead + points) // line) * line

    shape, margin = grid.local(pe), pitch_of(largest[-1])
    number = (math.prod(largest[:-1]) + 2) * margin
    return Layout(shape, lead, pitch_of(shape[-1]), margin + lead, number, item_bytes)
