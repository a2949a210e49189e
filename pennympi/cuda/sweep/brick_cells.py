"""The cells of a brick: where they lie along each axis, and how they get from memory to shared memory and back."""

from collections.abc import Callable
from functools import cache
from typing import NamedTuple

from numba import cuda

from ...kernels.block import load, real, store
from ...kernels.sweep.formula import Stencil
from ..intrinsics import load_word
from .shared import load_number, store_number
from .warp import LANES

AXIS_WORDS = 7


class Axis(NamedTuple):
    """A brick along one axis.

    own:  its points;  at: index of the first one in the field's storage;  rim: number of the first one among its cells
    live, live_stop: cells where the formula applies;  first, stop: own points, and the fixed cells beside them
    """

    own: int
    at: int
    rim: int
    live: int
    live_stop: int
    first: int
    stop: int


def axis_at(words, k):
    """Axis k of the brick whose words are at an address."""
    words += 8 * AXIS_WORDS * k
    return Axis(
        load_word(words),
        load_word(words + 8),
        load_word(words + 16),
        load_word(words + 24),
        load_word(words + 32),
        load_word(words + 40),
        load_word(words + 48),
    )


@cache
def movers(stencil: Stencil) -> tuple[Callable[..., None], Callable[..., None]]:
    """(load_cells, store_cells) of (field, fields, cells, bricks, x, y, z).

    The first takes own points and the fixed cells beside them to shared memory, the second own points to memory.
    """
    n_dims, item_bytes = stencil.n_dims, stencil.item_bytes

    def rows_of(x, y):
        """(first row, rows, from one to the next, first cell, from one to the next) of what a thread moves."""
        rows = (x.stop - x.first) * (y.stop - y.first)
        if n_dims == 1:
            return 0, rows, 1, cuda.threadIdx.x, cuda.blockDim.x
        return cuda.threadIdx.x // LANES, rows, cuda.blockDim.x // LANES, cuda.laneid, LANES

    def places(field, fields, cells, bricks, x, y, z, row):
        """(plane, row, the addresses of their cell 0 in memory and in shared memory) of a row."""
        height = y.stop - y.first
        i, j = x.first + row // height, y.first + row % height
        there = (x.at + i - x.rim) * fields.plane + (y.at + j - y.rim) * fields.row + z.at - z.rim
        return i, j, field + there * item_bytes, cells + i * bricks.plane_bytes + j * bricks.row_bytes

    def load_cells(field, fields, cells, bricks, x, y, z):
        row, rows, step, lane, lanes = rows_of(x, y)
        while row < rows:
            _, _, there, here = places(field, fields, cells, bricks, x, y, z, row)
            k = z.first + lane
            while k < z.stop:
                store_number(here + k * item_bytes, load(there, k))
                k += lanes
            row += step

    def store_cells(field, fields, cells, bricks, x, y, z):
        row, rows, step, lane, lanes = rows_of(x, y)
        while row < rows:
            i, j, there, here = places(field, fields, cells, bricks, x, y, z, row)
            mine = (x.rim <= i) & (i < x.rim + x.own) & (y.rim <= j) & (j < y.rim + y.own)
            k = z.rim + lane
            while mine & (k < z.rim + z.own):
                store(there, k, load_number(here + k * item_bytes, real(0.0)))
                k += lanes
            row += step

    return load_cells, store_cells
