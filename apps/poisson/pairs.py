"""The halves of an iteration for threads of a GPU: a column of pairs, two points of each plane that lie side by side.

Threads beside one another take pairs beside one another in the rows of a plane, their ends in the halo included, and go
along x: what a pair needs of the planes before and behind has its thread already.  What comes from memory it loads early,
r, p and the old direction two planes before they are behind; what lies beside a pair, other threads have loaded.  A pair
of float64 is one access of 16 bytes, since a grid's own rows begin on multiples of 64.

Points of a pair that are no own ones, at the ends of rows, are computed with what lies there, and are not kept.
"""

from typing import NamedTuple

from pennympi.kernels.block import load, product, real, store
from pennympi.kernels.in_kernel import Bins, add_to_bins

from .points import quotient, stencil, width
from .records import Box, Directions, Part, Solution


class Pair(NamedTuple):
    """A field at two points."""

    a: float
    b: float


class Pairs(NamedTuple):
    """r and the old direction at two points."""

    r: Pair
    old: Pair


class Column(NamedTuple):
    """Pairs of a box, one of each plane.

    at: of the first one, in bytes from the start of a field;  plane, row: bytes to its neighbours along x and y
    a, b: whether its points are own ones;  low, high: whether they are of the first row, and of the last one
    """

    at: int
    plane: int
    row: int
    a: bool
    b: bool
    low: bool
    high: bool


def column_at(part: Part, item, box: Box, k):
    """The column whose first point is element k of the rows of a plane."""
    y = quotient(k, width(part))
    z = k - y * width(part) - 2
    at, own = (box.at + y * part.row + z) * item, 0 <= z and z < part.nz
    return Column(at, part.plane * item, part.row * item, own, own and z < part.nz - 1, y == 0, y == part.ny - 1)


def pair_at(field, at, item):
    """Of a field.  That its address is a multiple of its size is told to the compiler, and changes nothing."""
    at = (field + at) & -(2 * item)
    return Pair(load(at, 0), load(at, 1))


def pairs_at(d: Directions, at, item):
    """``pair_at`` of what a direction is made of."""
    return Pairs(pair_at(d.r, at, item), pair_at(d.old, at, item))


def set_pair(field, at, item, pair: Pair):
    """Write both points of a pair."""
    at = (field + at) & -(2 * item)
    store(at, 0, pair.a)
    store(at, 1, pair.b)


def set_own(field, at, item, pair: Pair, c: Column):
    """Write the own points of a pair that has one."""
    if c.b:
        set_pair(field, at, item, pair)
    else:
        store(field + at, 0, pair.a)


def turned(beta, of: Pairs):
    """The new directions."""
    return Pair(of.r.a + product(real(beta), of.old.a), of.r.b + product(real(beta), of.old.b))


def turned_at(d: Directions, beta, at, i):
    """The new direction i points from one."""
    return load(d.r + at, i) + product(real(beta), load(d.old + at, i))


def applied(part: Part, before: Pair, here: Pair, behind: Pair, below: Pair, above: Pair, left, right):
    """``stencil`` at both points of a pair, from the pairs around it, and the points to its left and right."""
    a = stencil(part, here.a, before.a + behind.a, below.a + above.a, left + here.b)
    return Pair(a, stencil(part, here.b, before.b + behind.b, below.b + above.b, here.a + right))


def add_pair(bins: Bins, c: Column, p: Pair, q: Pair):
    """The bins with p * q at the own points of a pair."""
    bins = add_to_bins(bins, (1.0 * p.a) * (1.0 * q.a) if c.a else 0.0)
    return add_to_bins(bins, (1.0 * p.b) * (1.0 * q.b) if c.b else 0.0)


def turn_pairs(part: Part, d: Directions, beta, item, box: Box, k, bins: Bins):
    """new = the new direction on a column, and beside it in a halo: the bins with p * A p.

    At any point new is that of its r and old: whoever writes more than own points, or what another thread writes, too,
    writes the same.
    """
    c = column_at(part, item, box, k)
    at = c.at
    before = turned(beta, pairs_at(d, at - c.plane, item))
    here = turned(beta, pairs_at(d, at, item))
    after, end = pairs_at(d, at + c.plane, item), at + box.nx * c.plane
    ahead = pairs_at(d, min(at + 2 * c.plane, end), item)
    if box.x == 0:
        set_pair(d.new, at - c.plane, item, before)
    for _ in range(box.nx):
        later = pairs_at(d, min(at + 3 * c.plane, end), item)
        below, above = pairs_at(d, at - c.row, item), pairs_at(d, at + c.row, item)
        first, last = turned_at(d, beta, at, -1), turned_at(d, beta, at, 2)
        behind, below, above = turned(beta, after), turned(beta, below), turned(beta, above)
        set_pair(d.new, at, item, here)
        if c.low:
            set_pair(d.new, at - c.row, item, below)
        if c.high:
            set_pair(d.new, at + c.row, item, above)
        bins = add_pair(bins, c, here, applied(part, before, here, behind, below, above, first, last))
        before, here, after, ahead, at = here, behind, ahead, later, at + c.plane
    if box.x + box.nx == part.nx:
        set_pair(d.new, at, item, here)
    return bins


def advance_pairs(part: Part, s: Solution, alpha, item, box: Box, k, bins: Bins):
    """u += alpha p, r -= alpha A p on a column: the bins with its r * r."""
    c = column_at(part, item, box, k)
    if not c.a:
        return bins
    at, by = c.at, real(alpha)
    before, here = pair_at(s.p, at - c.plane, item), pair_at(s.p, at, item)
    behind, end = pair_at(s.p, at + c.plane, item), at + box.nx * c.plane
    ahead = pair_at(s.p, min(at + 2 * c.plane, end), item)
    next_u, next_r = pair_at(s.u, at, item), pair_at(s.r, at, item)
    for _ in range(box.nx):
        u, r, on = next_u, next_r, at + c.plane
        later = pair_at(s.p, min(at + 3 * c.plane, end), item)
        next_u, next_r = pair_at(s.u, on, item), pair_at(s.r, on, item)
        below, above = pair_at(s.p, at - c.row, item), pair_at(s.p, at + c.row, item)
        first, last = load(s.p + at, -1), load(s.p + at, 2)
        less = applied(part, before, here, behind, below, above, first, last)
        r = Pair(r.a - product(by, less.a), r.b - product(by, less.b))
        set_own(s.u, at, item, Pair(u.a + product(by, here.a), u.b + product(by, here.b)), c)
        set_own(s.r, at, item, r, c)
        bins = add_pair(bins, c, r, r)
        before, here, behind, ahead, at = here, behind, ahead, later, on
    return bins
