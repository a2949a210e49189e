"""The kernels of conjugate gradients.  A block takes whole rows of the part, along z; its threads go along a row.

A product that is a term of a sum is written ``product``: no compiler fuses the two, and both devices have the same bits.
"""

from typing import NamedTuple

from pennympi.kernels.block import Elements, block, blocks, lanes, load, product, real, store
from pennympi.kernels.in_kernel import MAX_VALUES, WORDS_BYTES, add_to_bins, add_to_words, no_bins

from .sums import Sums, last_square, ratio

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
    """The fields: the solution, the right-hand side, the residual and the direction of the search."""

    u: Elements
    f: Elements
    r: Elements
    p: Elements


def rows(part: Part):
    """The rows of own points that this block takes."""
    return range(block(), part.nx * part.ny, blocks())


def points(part: Part, row):
    """The points of a row that this thread takes, as indices in a field."""
    first = part.first + row // part.ny * part.plane + row % part.ny * part.row
    return lanes(first, first + part.nz)


def applied(part: Part, u, i):
    """A u at point i: -laplace(u), scaled.  i: index in a field"""
    twice = load(u, i) + load(u, i)
    x = product(real(part.wx), twice - (load(u, i - part.plane) + load(u, i + part.plane)))
    y = product(real(part.wy), twice - (load(u, i - part.row) + load(u, i + part.row)))
    return (x + y) + product(real(part.wz), twice - (load(u, i - 1) + load(u, i + 1)))


def add_product(bins, x, y):
    """The bins with x * y added; the product is rounded once, to float64."""
    return add_to_bins(bins, (1.0 * x) * (1.0 * y))


def update_direction(ctx, part: Part, v: Vectors, s: Sums):
    """p = r + beta p."""
    beta = real(ratio(last_square(s), last_square(s) - WORDS_BYTES))
    for row in rows(part):
        for i in points(part, row):
            store(v.p, i, load(v.r, i) + product(beta, load(v.p, i)))


def sum_curvature(ctx, part: Part, v: Vectors, s: Sums):
    """The sum p * A p.  The halo of p has arrived."""
    bins = no_bins()
    for row in rows(part):
        for i in points(part, row):
            bins = add_product(bins, load(v.p, i), applied(part, v.p, i))
    add_to_words(s.current, bins)


def update_solution(ctx, part: Part, v: Vectors, s: Sums):
    """u += alpha p, r -= alpha A p, and the sum r * r."""
    alpha, bins = real(ratio(last_square(s), s.current)), no_bins()
    for row in rows(part):
        for i in points(part, row):
            store(v.u, i, load(v.u, i) + product(alpha, load(v.p, i)))
            rest = load(v.r, i) - product(alpha, applied(part, v.p, i))
            store(v.r, i, rest)
            bins = add_product(bins, rest, rest)
    add_to_words(s.current + WORDS_BYTES, bins)


def compute_residual(ctx, part: Part, v: Vectors, s: Sums):
    """r = f - A u, and the sum r * r.  The halo of u has arrived."""
    bins = no_bins()
    for row in rows(part):
        for i in points(part, row):
            rest = load(v.f, i) - applied(part, v.u, i)
            store(v.r, i, rest)
            bins = add_product(bins, rest, rest)
    add_to_words(s.current + WORDS_BYTES, bins)


BY_ROWS = update_direction, sum_curvature, update_solution, compute_residual
