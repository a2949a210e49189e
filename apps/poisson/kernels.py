"""The kernels of conjugate gradients.  A block takes whole rows of the part, along z; its threads go along a row.

A product that is a term of a sum is written ``product``: no compiler fuses the two, and both devices have the same bits.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from pennympi.kernels.block import Elements, Static, block, blocks, lanes, load, product, read_epoch, real, store
from pennympi.kernels.in_kernel import MAX_VALUES, WORDS_BYTES, add_to_bins, add_to_words, no_bins, read_sum

from .sums import Sums, ratio

MOST_IN_BLOCK = MAX_VALUES // 4  # the most values that a block of one thread may add: see in_kernel/exact.py


class Part(NamedTuple):
    """This PE's part of the grid.  A grid of two dimensions is a plane of dimensions y and z.

    nx, ny, nz: number of own points along each dimension
    first:      index of the first own point in a field
    plane, row: number of elements between neighbours along x, and along y
    wx, wy, wz: weights of the differences along x, y and z; wx of a plane is 0
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


class Vectors(NamedTuple):
    """The fields: the solution, the right-hand side, the residual and the direction of the search.

    The directions have two fields, by turns, since a point's neighbours need its last direction for the new one.
    """

    u: Elements
    f: Elements
    r: Elements
    p_even: Elements
    p_odd: Elements


class Direction(NamedTuple):
    """A new direction, r + beta old, for the field new."""

    r: Elements
    beta: float
    old: Elements
    new: Elements


def rows(part: Part):
    """The rows of own points that this block takes."""
    return range(block(), part.nx * part.ny, blocks())


def place(part: Part, row):
    """The indices of a row along x and along y, and its first point, as an index in a field."""
    x = row // part.ny
    y = row - x * part.ny
    return x, y, part.first + x * part.plane + y * part.row


def points(part: Part, row):
    """The points of a row that this thread takes."""
    _, _, first = place(part, row)
    return lanes(first, first + part.nz)


def direction(d: Direction, i):
    """The new direction at point i."""
    return load(d.r, i) + product(d.beta, load(d.old, i))


def applied(value: Static[Callable[..., Any]], part: Part, u, i):
    """A u at point i: -laplace(u), scaled.  value: function of u and a point, such as ``load`` of a field"""
    twice = value(u, i) + value(u, i)
    x = product(real(part.wx), twice - (value(u, i - part.plane) + value(u, i + part.plane)))
    y = product(real(part.wy), twice - (value(u, i - part.row) + value(u, i + part.row)))
    return (x + y) + product(real(part.wz), twice - (value(u, i - 1) + value(u, i + 1)))


def store_halo(d: Direction, i, step, k, n):
    """Store the halo of the new direction beside point i, the k-th of n along a dimension."""
    if k == 0:
        store(d.new, i - step, direction(d, i - step))
    if k == n - 1:
        store(d.new, i + step, direction(d, i + step))


def last_and_new(v: Vectors, s: Sums):
    """The fields of the last and of the new direction; p_even has the direction of the first iteration."""
    return (v.p_odd, v.p_even) if read_epoch(s.history, 0) % 2 == 0 else (v.p_even, v.p_odd)


def add_product(bins, x, y):
    """The bins with x * y added; the product is rounded once, to float64."""
    return add_to_bins(bins, (1.0 * x) * (1.0 * y))


def update_direction(ctx, part: Part, v: Vectors, s: Sums):
    """p = r + beta p, also in the halo, and the sum p * A p.  The halo of r has arrived."""
    old, new = last_and_new(v, s)
    d, bins = Direction(v.r, load(s.beta, 0), old, new), no_bins()
    for row in rows(part):
        x, y, first = place(part, row)
        for i in lanes(first, first + part.nz):
            bins = add_product(bins, direction(d, i), applied(direction, part, d, i))
            store(new, i, direction(d, i))
            store_halo(d, i, part.plane, x, part.nx)
            store_halo(d, i, part.row, y, part.ny)
            store_halo(d, i, 1, i - first, part.nz)
    add_to_words(s.current, bins)


def update_solution(ctx, part: Part, v: Vectors, s: Sums):
    """u += alpha p, r -= alpha A p, and the sum r * r."""
    _, p = last_and_new(v, s)
    alpha, bins = real(ratio(read_sum(s.squares), read_sum(s.current))), no_bins()
    for row in rows(part):
        for i in points(part, row):
            store(v.u, i, load(v.u, i) + product(alpha, load(p, i)))
            rest = load(v.r, i) - product(alpha, applied(load, part, p, i))
            store(v.r, i, rest)
            bins = add_product(bins, rest, rest)
    add_to_words(s.current + WORDS_BYTES, bins)


def compute_residual(ctx, part: Part, v: Vectors, s: Sums):
    """r = f - A u, and the sum r * r.  The halo of u has arrived."""
    bins = no_bins()
    for row in rows(part):
        for i in points(part, row):
            rest = load(v.f, i) - applied(load, part, v.u, i)
            store(v.r, i, rest)
            bins = add_product(bins, rest, rest)
    add_to_words(s.current + WORDS_BYTES, bins)


BY_ROWS = update_direction, update_solution, compute_residual
