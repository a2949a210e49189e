"""The records that the kernels take; numbers are int64 unless they are annotated as float, addresses of this PE."""

from typing import NamedTuple


class Part(NamedTuple):
    """This PE's part of the grid.

    nx, ny, nz: own points; of a plane nx is 1
    first:      elements from the start of an array to the first own point
    plane, row: elements from a point to the next one along x, and along y; of a plane ``plane`` is 0
    wx, wy, wz: weights of the three differences; of a plane wx is 0
    rims:       a bit for each side (x-, x+, y-, y+, z-, z+) with a neighbour, where the direction has a halo
    """

    nx: int
    ny: int
    nz: int
    first: int
    plane: int
    row: int
    wx: float
    wy: float
    wz: float
    rims: int


class Tiles(NamedTuple):
    """How a part is cut into tiles, for blocks of a GPU.

    across, down: how many there are along z, and along y;  planes: of a tile, along x;  number: of all tiles
    """

    across: int
    down: int
    planes: int
    number: int


class Directions(NamedTuple):
    """new = r + beta * old, on the own points and those beside them.  Addresses of fields."""

    new: int
    old: int
    r: int


class Vectors(NamedTuple):
    """Addresses of the fields.  Iteration k makes its direction in ``odd`` where k is even, from the one in ``even``."""

    u: int
    r: int
    even: int
    odd: int


class Scalars(NamedTuple):
    """The sums of the iterations, and when they end.

    history: address of the sums r * r, of which the one after k iterations lies at place k + 1
    runs:    address of two numbers: of the iterations done, and of those done when r was last computed anew
    below:   the iterations end when r * r is at most this
    pap, rr: addresses of the words of this PE, for the sums p * A p and r * r of iteration 0
    total:   address of the sum p * A p over all PEs;  stride: bytes from all these to those of the next iteration
    """

    history: int
    runs: int
    below: float
    pap: int
    rr: int
    total: int
    stride: int
