"""The records that the kernels take; numbers are int64 unless they are annotated as float, addresses of this PE."""

from typing import NamedTuple

from pennympi.kernels.in_kernel import WORDS_BYTES

PAP, RR = 0, WORDS_BYTES  # places of the two sums of an iteration, p * A p and r * r, in bytes


class Part(NamedTuple):
    """This PE's part of the grid.

    nx, ny, nz: own points; of a plane nx is 1
    first:      elements from the start of an array to the first own point
    plane, row: elements from a point to the next one along x, and along y; of a plane ``plane`` is 0
    wx, wy, wz: weights of the three differences; of a plane wx is 0
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


class Tiles(NamedTuple):
    """How a part is cut into tiles, which blocks compute.

    The rows of a plane, each of ``width`` elements (see points.py), are one sequence; a tile has ``run`` elements of it
    in each of ``planes`` planes.  Those at an end may have fewer.  A thread that is alone takes whole rows.
    beside:  tiles of a plane;  number: of all tiles
    blocks:  of a launch;  chunk: tiles that they add up together before they give their sums
    """

    planes: int
    run: int
    beside: int
    number: int
    blocks: int
    chunk: int


class Box(NamedTuple):
    """A tile: elements begin..stop-1 of the rows of own planes x..x+nx-1.

    at: elements from the start of a field to the first own point of the first of these planes
    """

    x: int
    nx: int
    begin: int
    stop: int
    at: int


class Directions(NamedTuple):
    """new = r + beta * old, on the own points and those beside them.  Addresses of fields."""

    new: int
    old: int
    r: int


class Solution(NamedTuple):
    """Addresses of the fields that an iteration advances: u, the residual r, and the direction p."""

    u: int
    r: int
    p: int


class Vectors(NamedTuple):
    """Addresses of the fields.  Iteration k makes its direction in ``odd`` where k is even, from the one in ``even``."""

    u: int
    r: int
    even: int
    odd: int


class Scalars(NamedTuple):
    """The sums of the iterations, and when they end.

    words, totals: addresses of PAP and RR of this iteration: the words of this PE, and the sums over all PEs
    history: address of the sums r * r, of which the one after k iterations lies at place k + 1
    runs:    address of the number of iterations done
    below:   they end when r * r is at most this;  period: or when their number is a multiple of this
    """

    words: int
    totals: int
    history: int
    runs: int
    below: float
    period: int
