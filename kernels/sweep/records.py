"""The records that kernels of sweeps take.  Addresses belong to this PE's memory.

A three-dimensional grid has dimensions x, y, z, a two-dimensional one y, z, a one-dimensional one z.  z is contiguous.
"""

from typing import NamedTuple

from ..primitive import Elements, Words


class SweepFields(NamedTuple):
    """The arrays of a sweep.

    new, old:    addresses of element (0, .., 0) of the fields, which lies in the halo
    coefficient: address of element (0, .., 0) of the field of coefficients; 0: none
    plane, row:  elements from a point to the next point in x, and in y; in one dimension ``row`` is the storage's length
    """

    new: int
    old: int
    coefficient: int
    plane: int
    row: int


class Box(NamedTuple):
    """The points from (x0, y0, z0) to (x1 - 1, y1 - 1, z1 - 1), as indices of an array with halo."""

    x0: int
    x1: int
    y0: int
    y1: int
    z0: int
    z1: int


class Cut(NamedTuple):
    """The division of a launch into blocks.

    chunk:    number of points of the first dimension that a block or a warp computes, one after another
    lead:     number of elements of storage before a row's first element; kernels may read them
    n_chunks: number of chunks;  first: number of the chunk that the first blocks compute; the next chunks follow it
    missing:  number of points that the first chunk lacks;  tail: number of points of the last chunk; 0: what is left
    apart:    number of the chunks computed first whose warps share no block with other warps
    left, right: number of warps side by side that read a halo before the first column, and after the last column
    edge_chunk: number of rows of the chunks of these warps, which are computed after the chunks that are ``apart``
    """

    chunk: int
    lead: int
    n_chunks: int = 0
    first: int = 0
    missing: int = 0
    tail: int = 0
    apart: int = 0
    left: int = 0
    right: int = 0
    edge_chunk: int = 1


class Pass(NamedTuple):
    """A pass: new[box] = some sweeps of old.

    live:    points that the formula applies to
    values:  address of the formula's numbers
    words:   address of the words (levels, COPIES, WORDS), int64, of the first level that has a norm; 0: none
    scratch: address of memory of this PE, a multiple of 64 bytes
    """

    fields: SweepFields
    box: Box
    live: Box
    cut: Cut
    values: Elements
    words: Words
    scratch: int
