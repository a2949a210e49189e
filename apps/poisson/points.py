"""What the kernels compute at one point, where its row lies, and where the iterations are."""

from typing import NamedTuple

from pennympi.kernels.block import load, product, read_epoch, real
from pennympi.kernels.in_kernel import WORDS_BYTES, read_sum

from .records import Directions, Part, Scalars, Vectors


def quotient(a, b):
    """a // b for 0 <= a < 2**50, exact because (a + 0.5) / b is at least 1 / (2 b) away from an integer.

    A GPU needs dozens of instructions for a division of 64-bit integers.
    """
    return int((a + 0.5) * (1.0 / b))


def row_at(part: Part, row):
    """The first own point of row number ``row`` of the own rows, in elements from the start of a field."""
    x = quotient(row, part.ny)
    return part.first + x * part.plane + (row - x * part.ny) * part.row


def stencil(part: Part, here, x, y, z):
    """-laplace at a point, times the scale.  x, y, z: the sums of its two neighbours along each dimension"""
    twice = here + here
    along_x, along_y = product(real(part.wx), twice - x), product(real(part.wy), twice - y)
    return (along_x + along_y) + product(real(part.wz), twice - z)


def applied(part: Part, u, at):
    """``stencil`` of a field."""
    x = load(u, at - part.plane) + load(u, at + part.plane)
    y = load(u, at - part.row) + load(u, at + part.row)
    return stencil(part, load(u, at), x, y, load(u, at - 1) + load(u, at + 1))


def direction(d: Directions, beta, at):
    """The new direction at a point."""
    return load(d.r, at) + product(real(beta), load(d.old, at))


def ratio(a, b):
    """a / b, or 0 if b is 0: then the residual is 0 and no more steps are needed."""
    return a / b if b > 0.0 else 0.0


class Now(NamedTuple):
    """Where the iterations are.

    k: how many are done;  rr, before: r * r now, and one iteration before
    goes_on: whether there is another one: those that are enqueued after the end do nothing
    """

    k: int
    rr: float
    before: float
    goes_on: bool


def now_of(s: Scalars, ahead):
    """See ``Now``.  ahead: iterations since the last note;  the sum of one that was not done is 0"""
    k = read_epoch(s.runs, 0) + ahead
    at = s.history + k * WORDS_BYTES
    rr = read_sum(at + WORDS_BYTES)
    return Now(k, rr, read_sum(at), rr > s.below or k == read_epoch(s.runs, 1))


def directions_of(v: Vectors, k):
    """Those of iteration k."""
    return Directions(v.odd, v.even, v.r) if k & 1 == 0 else Directions(v.even, v.odd, v.r)
