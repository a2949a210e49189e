"""What the kernels are told, as records; numbers are int64 unless they are annotated as float, addresses of this PE."""

from typing import NamedTuple

from pennympi.kernels.in_kernel import WORDS_BYTES

SUMS = 3  # of an iteration: p * A p, r * r, r * z
SLOT_BYTES = SUMS * WORDS_BYTES
PAP, RR, RZ = 0, WORDS_BYTES, 2 * WORDS_BYTES


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


class Directions(NamedTuple):
    """new = weight * z + beta * old, on the own points and those beside them.  Addresses of fields."""

    new: int
    old: int
    z: int


class Solution(NamedTuple):
    """Addresses of the fields that an iteration advances: u, the residual r, and the direction p."""

    u: int
    r: int
    p: int


class Scalars(NamedTuple):
    """The sums of the iterations.

    sums:   address of the sums over all PEs of this iteration, PAP, RR and RZ; those of the one before lie before it
    words:  address of the words of this PE that make them
    rz:     RR or RZ: where r * z is found
    weight: of z, see ``Directions``, and of r * z
    """

    sums: int
    words: int
    rz: int
    weight: float
