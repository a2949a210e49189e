"""What the kernels of a sweep take, as records; an address is that of this PE's memory.

A grid of two dimensions uses y and z of three, one of one dimension z.  z is contiguous.
"""

from typing import NamedTuple


class SweepFields(NamedTuple):
    """The arrays of a sweep.

    new, old:    addresses of their element (0, .., 0), which lies in the halo
    coefficient: the same of the field of coefficients, 0: none
    plane, row:  elements from a point to the next one in x, and in y; ``row`` is that of the storage in one dimension too
    """

    new: int
    old: int
    coefficient: int
    plane: int
    row: int


class Box(NamedTuple):
    """The points from (x0, y0, z0) up to, but without, (x1, y1, z1), as indices of an array with halo."""

    x0: int
    x1: int
    y0: int
    y1: int
    z0: int
    z1: int


class Cut(NamedTuple):
    """How a launch is cut into blocks.

    chunk: points of the first dimension that a block or a warp goes down
    lead:  elements of storage before the first one of a row, which may be read
    """

    chunk: int
    lead: int
