"""``update_direction`` and ``update_solution`` on a GPU: a tile has rows of 64 points, a warp each, and moves along x.

A thread has two points that lie side by side in a row, a pair, which is one access of 16 bytes for float64, since a
grid's own rows begin on multiples of 64.  What it needs for a plane is on its way from the L2 cache while it computes the
plane before, and from memory since AHEAD planes before.  The rows above and below other warps load as well; what lies to
the left and right the lanes beside it have.  The rows of a tile are many, so that few of them are read twice.
"""

from functools import cache
from typing import NamedTuple

from pennympi.cuda.gpu import cuda
from pennympi.cuda.intrinsics import anew, prefetch
from pennympi.kernels.block import block, blocks, load, product, real, store
from pennympi.kernels.in_kernel import Bins, add_to_bins, add_to_words, no_bins, read_sum

from .kernels import mark
from .points import directions_of, now_of, quotient, ratio, stencil
from .records import Directions, Part, Scalars, Tiles, Vectors

LANES, LAST, ALL = 32, 31, 0xFFFFFFFF
AHEAD = 2


class Pair(NamedTuple):
    """A field at two points."""

    a: float
    b: float


class Solution(NamedTuple):
    """Addresses of u, r and the direction p."""

    u: int
    r: int
    p: int


class Column(NamedTuple):
    """The pairs of a thread in a tile; addresses and bytes are of fields from their first own point on.

    x, y, z: of the first own point;  planes: of the tile
    has, whole: whether the first point of a pair is an own one, and both;  last: whether it has the row's last own one
    at: bytes to the first pair;  plane, row: from a pair to the next one;  end: to the pair after the last one
    left, right: whether no lane has the number beside it there;  side: bytes to it
    """

    x: int
    y: int
    z: int
    planes: int
    has: bool
    whole: bool
    last: bool
    at: int
    plane: int
    row: int
    end: int
    left: bool
    right: bool
    side: int


def column_of(part: Part, tiles: Tiles, item, k):
    """The column of tile k.  Where it lies beyond the row, one with the point after the last own one."""
    beyond = quotient(k, tiles.across)
    chunk = quotient(beyond, tiles.down)
    lane, rows, x = cuda.laneid, cuda.blockDim.x // LANES, chunk * tiles.planes
    y = (beyond - chunk * tiles.down) * rows + cuda.threadIdx.x // LANES
    z = 2 * (LANES * (k - beyond * tiles.across) + lane)
    planes, plane = min(tiles.planes, part.nx - x), even(part.plane * item, item)
    at = even((x * part.plane + y * part.row + min(z, part.nz & -2)) * item, item)
    own, side = part.nz - z, 2 * item if lane == LAST else -item
    has, whole, last = own > 0, own > 1, 0 < own and own < 3
    row, end, left, right = even(part.row * item, item), at + planes * plane, lane == 0, lane == LAST
    return Column(x, y, z, planes, has, whole, last, at, plane, row, end, left, right, side)


def even(at, item):
    """The same multiple of a pair's size, now known to the compiler as one, which then accesses pairs as a whole."""
    return at & -(2 * item)


def pair_at(at):
    """The pair of a field at an address."""
    return Pair(load(at, 0), load(at, 1))


def number_at(at, c: Column):
    """The number beside a pair, loaded if no lane has it."""
    return load(at + c.side, 0) if c.left or c.right else real(0.0)


def set_own(at, pair: Pair, c: Column):
    """Write the own points of a pair."""
    if c.whole:
        store(at, 0, pair.a)
        store(at, 1, pair.b)
    elif c.has:
        store(at, 0, pair.a)


def applied(part: Part, before: Pair, here: Pair, behind: Pair, below: Pair, above: Pair, beside, c: Column):
    """``stencil`` at both points of a pair, from the pairs around it, and its neighbours.  beside: of the column's"""
    left, right = cuda.shfl_up_sync(ALL, here.b, 1), cuda.shfl_down_sync(ALL, here.a, 1)
    left, right = beside if c.left else left, beside if c.right else right
    a = stencil(part, here.a, before.a + behind.a, below.a + above.a, left + here.b)
    return Pair(a, stencil(part, here.b, before.b + behind.b, below.b + above.b, here.a + right)), left, right


def add_pair(bins: Bins, c: Column, p: Pair, q: Pair):
    """The bins with p * q at the own points of a pair."""
    bins = add_to_bins(bins, (1.0 * p.a) * (1.0 * q.a) if c.has else 0.0)
    return add_to_bins(bins, (1.0 * p.b) * (1.0 * q.b) if c.whole else 0.0)


def set_rims(part: Part, c: Column, at, to, around):
    """The halo beside a pair at ``at``, whose new direction lies at ``to``.  around: the pairs and numbers there"""
    (before, behind, below, above, left, right), rims = around, part.rims
    if at == c.at and c.x == 0 and rims & 1:
        set_own(to - c.plane, before, c)
    if at + c.plane == c.end and c.x + c.planes == part.nx and rims & 2:
        set_own(to + c.plane, behind, c)
    if c.y == 0 and rims & 4:
        set_own(to - c.row, below, c)
    if c.y == part.ny - 1 and rims & 8:
        set_own(to + c.row, above, c)
    if c.z == 0 and rims & 16:
        store(to, -1, left)
    if rims & 32 and c.last:
        store(to, 2 if c.whole else 1, right)


def marched(item, here_of, fetch, step):
    """sums(part, fields, by, tiles): do this block's tiles.

    fields, by: addresses of first own points, and a factor.  Of these, and of a column c:
    here_of(fields, by, at): the pair to which A is applied;  fetch(fields, c, at): what a plane needs
    step(part, fields, by, c, at, before, here, now, bins): do a plane, for which ``now`` was fetched a step before
    -> the bins, the pair of the next plane, and what was fetched for it
    """

    def march(part: Part, fields, by, c: Column, bins: Bins):
        at, now = c.at, fetch(fields, c, c.at)
        before, here = here_of(fields, by, at - c.plane), here_of(fields, by, at)
        while True:
            at = even(anew(at), item)
            bins, behind, then = step(part, fields, by, c, at, before, here, now, bins)
            at += c.plane
            if at == c.end:
                break
            bins, ahead, now = step(part, fields, by, c, at, here, behind, then, bins)
            before, here = behind, ahead
            at += c.plane
            if at == c.end:
                break
        return bins

    def sums(part: Part, fields, by, tiles: Tiles):
        bins, k = no_bins(), block()
        while k < tiles.number:
            c = column_of(part, tiles, item, k)
            if c.y < part.ny:
                bins = march(part, fields, by, c, bins)
            k += blocks()
        return bins

    return sums


@cache
def update_direction_of(item):
    """``update_direction`` for elements of so many bytes."""

    def new(beta, r: Pair, old: Pair):
        return Pair(r.a + product(beta, old.a), r.b + product(beta, old.b))

    def here_of(d: Directions, beta, at):
        return new(beta, pair_at(d.r + at), pair_at(d.old + at))

    def fetch(d: Directions, c: Column, at):
        """r of the next plane, below, above and at the side, and the old direction there."""
        behind = pair_at(d.r + at + c.plane), pair_at(d.old + at + c.plane)
        below = pair_at(d.r + at - c.row), pair_at(d.old + at - c.row)
        above = pair_at(d.r + at + c.row), pair_at(d.old + at + c.row)
        return behind, below, above, number_at(d.r + at, c), number_at(d.old + at, c)

    def step(part: Part, d: Directions, beta, c: Column, at, before: Pair, here: Pair, now, bins: Bins):
        after = fetch(d, c, even(min(at + c.plane, c.end - c.plane), item))
        behind, below, above = new(beta, *now[0]), new(beta, *now[1]), new(beta, *now[2])
        q, left, right = applied(part, before, here, behind, below, above, now[3] + product(beta, now[4]), c)
        set_own(d.new + at, here, c)
        if part.rims != 0:
            around = before, behind, below, above, left, right if c.whole else here.b
            set_rims(part, c, at, d.new + at, around)
        return add_pair(bins, c, here, q), behind, after

    sums = marched(item, here_of, fetch, step)

    def update_direction(ctx, part: Part, v: Vectors, s: Scalars, ahead: int, tiles: Tiles):
        """The first half of an iteration: the new direction, and the sum p * A p."""
        now, first = now_of(s, ahead), part.first * item
        new, old, r = directions_of(v, now.k)
        d = Directions(even(new + first, item), even(old + first, item), even(r + first, item))
        if now.goes_on:
            bins = sums(part, d, real(ratio(now.rr, now.before)), tiles)
            add_to_words(s.pap + now.k * s.stride, bins)

    return update_direction


@cache
def update_solution_of(item):
    """``update_solution`` for elements of so many bytes."""

    def here_of(s: Solution, alpha, at):
        return pair_at(s.p + at)

    def fetch(s: Solution, c: Column, at):
        """p of the next plane, below and above, u and r, and p at the side."""
        p = pair_at(s.p + at + c.plane), pair_at(s.p + at - c.row), pair_at(s.p + at + c.row)
        return p, pair_at(s.u + at), pair_at(s.r + at), number_at(s.p + at, c)

    def step(part: Part, s: Solution, alpha, c: Column, at, before: Pair, here: Pair, now, bins: Bins):
        ahead = min(at + AHEAD * c.plane, c.end)
        after = fetch(s, c, even(min(at + c.plane, c.end - c.plane), item))
        prefetch(s.p + ahead)
        prefetch(s.u + ahead)
        prefetch(s.r + ahead)
        p, u, r, beside = now
        q, _, _ = applied(part, before, here, p[0], p[1], p[2], beside, c)
        r = Pair(r.a - product(alpha, q.a), r.b - product(alpha, q.b))
        set_own(s.u + at, Pair(u.a + product(alpha, here.a), u.b + product(alpha, here.b)), c)
        set_own(s.r + at, r, c)
        return add_pair(bins, c, r, r), p[0], after

    sums = marched(item, here_of, fetch, step)

    def update_solution(ctx, part: Part, v: Vectors, s: Scalars, ahead: int, tiles: Tiles):
        """The second half: u += alpha p, r -= alpha A p, and the sum r * r."""
        now, first = now_of(s, ahead), part.first * item
        p, alpha = directions_of(v, now.k).new, ratio(now.rr, read_sum(s.total + now.k * s.stride))
        if now.goes_on:
            solution = Solution(even(v.u + first, item), even(v.r + first, item), even(p + first, item))
            add_to_words(s.rr + now.k * s.stride, sums(part, solution, real(alpha), tiles))
        mark(s, now.k, now.goes_on)

    return update_solution
