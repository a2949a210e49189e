"""The kernels of an iteration, ``turn`` and ``advance``, and two that take their blocks by rows, lines of nz points.

The first two take tiles.  A thread of a GPU takes a column of a tile, a point of each plane, and goes along x: what it
needs of the planes before and behind it has already, and of the other neighbours, which are those of threads beside it,
the cache has.  It takes four planes at a time, whose loads all come before the first store, to be under way at the same
time.  A thread of a CPU, which is alone in its block, takes the rows of a tile.

A product that a sum takes is one of ``product``, which no compiler fuses with the sum: all kernels that compute the same
thing have the same bits, and a GPU is expected to have a CPU's.
"""

from typing import NamedTuple

from pennympi.kernels.block import alone, block, blocks, lanes, load, product, real, store
from pennympi.kernels.in_kernel import MAX_VALUES, Bins, add_to_bins, add_to_words, no_bins, read_sum

from .records import PAP, RR, SLOT_BYTES, Box, Directions, Part, Scalars, Solution, Tiles

TWICE_MOST_THREADS = 1024
AT_ONCE = 4  # planes whose loads all come before the first store


class Lane(NamedTuple):
    """The first index of this thread, and how far it is to its next one: 0 and 1 on a CPU."""

    first: int
    step: int


class Sides(NamedTuple):
    """A field at the neighbours of a point along z and y."""

    left: float
    right: float
    below: float
    above: float


class Ends(NamedTuple):
    """Whether a point is the first or the last one along z and y: the neighbour is in a halo there."""

    left: bool
    right: bool
    below: bool
    above: bool


def lane():
    """This thread's place in its block."""
    first = -1
    for k in lanes(0, TWICE_MOST_THREADS):
        if first >= 0:
            return Lane(first, k - first)
        first = k
    return Lane(first, 1)


def quotient(a, b):
    """a // b, for 0 <= a < 2**50: a / b is at least 1 / (2 b) from what would round to another number.

    On a GPU a division of 64-bit integers is dozens of instructions, and a range with a step has one.
    """
    return int((a + 0.5) * (1.0 / b))


def ratio(a, b):
    """a / b; 0 where b is: a residual of 0 needs no more steps."""
    return a / b if b > 0.0 else 0.0


def beta_of(scalars: Scalars):
    """How much of the old direction stays."""
    now = read_sum(scalars.sums + scalars.rz)
    return ratio(now, read_sum(scalars.sums - SLOT_BYTES + scalars.rz))


def alpha_of(scalars: Scalars):
    """How far to go in the new direction."""
    return ratio(scalars.weight * read_sum(scalars.sums + scalars.rz), read_sum(scalars.sums + PAP))


def row_at(part: Part, row):
    """The first own point of row number ``row`` of the own rows, in elements from the start of a field."""
    x = quotient(row, part.ny)
    return part.first + x * part.plane + (row - x * part.ny) * part.row


def box_at(part: Part, tiles: Tiles, k):
    """The own points of tile number k."""
    plane = quotient(k, tiles.down * tiles.across)
    k -= plane * (tiles.down * tiles.across)
    row = quotient(k, tiles.across)
    x, y, z = plane * tiles.planes, row * tiles.rows, (k - row * tiles.across) * tiles.columns
    nx, ny, nz = min(tiles.planes, part.nx - x), min(tiles.rows, part.ny - y), min(tiles.columns, part.nz - z)
    return Box(x, y, z, nx, ny, nz, part.first + x * part.plane + y * part.row + z)


def share(tiles: Tiles, start):
    """This block's share of the tiles from ``start`` on that are added up before they become words."""
    return range(start + block(), min(start + tiles.chunk, tiles.number), blocks())


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


def direction(d: Directions, weight, beta, at):
    """The new direction at a point."""
    return product(real(weight), load(d.z, at)) + product(real(beta), load(d.old, at))


def turn_line(part: Part, d: Directions, weight, beta, at, n):
    """new = the new direction at n points in a halo."""
    for i in range(at, at + n):
        store(d.new, i, direction(d, weight, beta, i))


def turn_row(part: Part, d: Directions, weight, beta, at, bins: Bins):
    """The same on a row, and at its ends: the bins with its p * A p."""
    for i in range(at, at + part.nz):
        here = direction(d, weight, beta, i)
        x = direction(d, weight, beta, i - part.plane) + direction(d, weight, beta, i + part.plane)
        y = direction(d, weight, beta, i - part.row) + direction(d, weight, beta, i + part.row)
        z = direction(d, weight, beta, i - 1) + direction(d, weight, beta, i + 1)
        store(d.new, i, here)
        bins = add_to_bins(bins, (1.0 * here) * (1.0 * stencil(part, here, x, y, z)))
    turn_line(part, d, weight, beta, at - 1, 1)
    turn_line(part, d, weight, beta, at + part.nz, 1)
    return bins


def turn_rows(part: Part, d: Directions, weight, beta, box: Box, bins: Bins):
    """The same on all rows of a box, and on those in a halo beside them."""
    for x in range(box.nx):
        at = box.at + x * part.plane
        for y in range(box.ny):
            bins = turn_row(part, d, weight, beta, at + y * part.row, bins)
        if box.y == 0:
            turn_line(part, d, weight, beta, at - part.row, part.nz)
        if box.y + box.ny == part.ny:
            turn_line(part, d, weight, beta, at + box.ny * part.row, part.nz)
        if box.x + x == 0:
            for y in range(box.ny):
                turn_line(part, d, weight, beta, at - part.plane + y * part.row, part.nz)
        if box.x + x == part.nx - 1:
            for y in range(box.ny):
                turn_line(part, d, weight, beta, at + part.plane + y * part.row, part.nz)
    return bins


def turn_sides(part: Part, d: Directions, weight, beta, at):
    """The new direction beside a point."""
    left, right = direction(d, weight, beta, at - 1), direction(d, weight, beta, at + 1)
    return Sides(left, right, direction(d, weight, beta, at - part.row), direction(d, weight, beta, at + part.row))


def applied_beside(part: Part, before, here, behind, sides: Sides):
    """``stencil`` of a field at a point whose neighbours are known.  before, behind: those along x"""
    return stencil(part, here, before + behind, sides.below + sides.above, sides.left + sides.right)


def turn_point(part: Part, new, at, before, here, behind, sides: Sides, ends: Ends, bins: Bins):
    """Store the new direction at a point, and at neighbours in a halo: the bins with p * A p."""
    store(new, at, here)
    if ends.left:
        store(new, at - 1, sides.left)
    if ends.right:
        store(new, at + 1, sides.right)
    if ends.below:
        store(new, at - part.row, sides.below)
    if ends.above:
        store(new, at + part.row, sides.above)
    return add_to_bins(bins, (1.0 * here) * (1.0 * applied_beside(part, before, here, behind, sides)))


def turn_column(part: Part, d: Directions, weight, beta, box: Box, y, z, bins: Bins):
    """new = the new direction on a column of a box, and at its neighbours in a halo: the bins with p * A p."""
    at, left = box.at + y * part.row + z, box.nx
    y, z = box.y + y, box.z + z
    ends = Ends(z == 0, z == part.nz - 1, y == 0, y == part.ny - 1)
    before, here = direction(d, weight, beta, at - part.plane), direction(d, weight, beta, at)
    if box.x == 0:
        store(d.new, at - part.plane, before)
    while left >= AT_ONCE:
        a, b, c = at + part.plane, at + 2 * part.plane, at + 3 * part.plane
        p, q, r = direction(d, weight, beta, a), direction(d, weight, beta, b), direction(d, weight, beta, c)
        s = direction(d, weight, beta, c + part.plane)
        i, j = turn_sides(part, d, weight, beta, at), turn_sides(part, d, weight, beta, a)
        k, m = turn_sides(part, d, weight, beta, b), turn_sides(part, d, weight, beta, c)
        bins = turn_point(part, d.new, at, before, here, p, i, ends, bins)
        bins = turn_point(part, d.new, a, here, p, q, j, ends, bins)
        bins = turn_point(part, d.new, b, p, q, r, k, ends, bins)
        bins = turn_point(part, d.new, c, q, r, s, m, ends, bins)
        before, here = r, s
        at = c + part.plane
        left -= AT_ONCE
    while left > 0:
        behind, sides = direction(d, weight, beta, at + part.plane), turn_sides(part, d, weight, beta, at)
        bins = turn_point(part, d.new, at, before, here, behind, sides, ends, bins)
        before, here = here, behind
        at += part.plane
        left -= 1
    if box.x + box.nx == part.nx:
        store(d.new, at, here)
    return bins


def turn_box(part: Part, d: Directions, weight, beta, tiles: Tiles, box: Box, thread: Lane, bins: Bins):
    """new = the new direction on a box, and in a halo beside it: the bins with p * A p.

    The neighbours' part of z has come, and that of old was computed as here: so no direction travels.
    """
    if alone():
        return turn_rows(part, d, weight, beta, box, bins)
    k = thread.first
    while k < tiles.rows * tiles.columns:
        y = quotient(k, tiles.columns)
        z = k - y * tiles.columns
        if y < box.ny and z < box.nz:
            bins = turn_column(part, d, weight, beta, box, y, z, bins)
        k += thread.step
    return bins


def turn_tiles(part: Part, d: Directions, weight, beta, tiles: Tiles, start):
    """``turn_box`` on this block's share of the tiles from ``start`` on."""
    bins, thread = no_bins(), lane()
    for k in share(tiles, start):
        bins = turn_box(part, d, weight, beta, tiles, box_at(part, tiles, k), thread, bins)
    return bins


def beside(part: Part, p, at):
    """A field beside a point."""
    return Sides(load(p, at - 1), load(p, at + 1), load(p, at - part.row), load(p, at + part.row))


def lessened(part: Part, r, alpha, before, here, behind, sides: Sides):
    """r - alpha A p at a point.  before, behind: p at its neighbours along x"""
    return r - product(real(alpha), applied_beside(part, before, here, behind, sides))


def advance_rows(part: Part, s: Solution, alpha, box: Box, bins: Bins):
    """u += alpha p, r -= alpha A p on the rows of a box: the bins with its r * r."""
    for x in range(box.nx):
        for y in range(box.ny):
            at = box.at + x * part.plane + y * part.row
            for i in range(at, at + part.nz):
                store(s.u, i, load(s.u, i) + product(real(alpha), load(s.p, i)))
                left = load(s.r, i) - product(real(alpha), applied(part, s.p, i))
                store(s.r, i, left)
                bins = add_to_bins(bins, (1.0 * left) * (1.0 * left))
    return bins


def advance_point(s: Solution, alpha, at, u, p, r, bins: Bins):
    """Store r and u + alpha p at a point: the bins with r * r."""
    store(s.u, at, u + product(real(alpha), p))
    store(s.r, at, r)
    return add_to_bins(bins, (1.0 * r) * (1.0 * r))


def advance_column(part: Part, s: Solution, alpha, at, left, bins: Bins):
    """The same on a column, of which ``left`` points are left."""
    before, here = load(s.p, at - part.plane), load(s.p, at)
    while left >= AT_ONCE:
        a, b, c = at + part.plane, at + 2 * part.plane, at + 3 * part.plane
        p, q, v, w = load(s.p, a), load(s.p, b), load(s.p, c), load(s.p, c + part.plane)
        u = load(s.u, at), load(s.u, a), load(s.u, b), load(s.u, c)
        r = load(s.r, at), load(s.r, a), load(s.r, b), load(s.r, c)
        i, j, k, m = beside(part, s.p, at), beside(part, s.p, a), beside(part, s.p, b), beside(part, s.p, c)
        first, second = lessened(part, r[0], alpha, before, here, p, i), lessened(part, r[1], alpha, here, p, q, j)
        third, fourth = lessened(part, r[2], alpha, p, q, v, k), lessened(part, r[3], alpha, q, v, w, m)
        bins = advance_point(s, alpha, at, u[0], here, first, bins)
        bins = advance_point(s, alpha, a, u[1], p, second, bins)
        bins = advance_point(s, alpha, b, u[2], q, third, bins)
        bins = advance_point(s, alpha, c, u[3], v, fourth, bins)
        before, here = v, w
        at = c + part.plane
        left -= AT_ONCE
    while left > 0:
        behind, u, r = load(s.p, at + part.plane), load(s.u, at), load(s.r, at)
        r = lessened(part, r, alpha, before, here, behind, beside(part, s.p, at))
        bins = advance_point(s, alpha, at, u, here, r, bins)
        before, here = here, behind
        at += part.plane
        left -= 1
    return bins


def advance_box(part: Part, s: Solution, alpha, tiles: Tiles, box: Box, thread: Lane, bins: Bins):
    """u += alpha p, r -= alpha A p on a box: the bins with its r * r."""
    if alone():
        return advance_rows(part, s, alpha, box, bins)
    k = thread.first
    while k < tiles.rows * tiles.columns:
        y = quotient(k, tiles.columns)
        z = k - y * tiles.columns
        if y < box.ny and z < box.nz:
            bins = advance_column(part, s, alpha, box.at + y * part.row + z, box.nx, bins)
        k += thread.step
    return bins


def turn(ctx, part: Part, d: Directions, scalars: Scalars, tiles: Tiles):
    """The first half of an iteration, up to the sum p * A p."""
    beta = beta_of(scalars)
    for start in range(0, tiles.number, tiles.chunk):
        add_to_words(scalars.words + PAP, turn_tiles(part, d, scalars.weight, beta, tiles, start))


def advance(ctx, part: Part, s: Solution, scalars: Scalars, tiles: Tiles):
    """The second half.  The sum r * r is the next iteration's."""
    alpha, thread = alpha_of(scalars), lane()
    for start in range(0, tiles.number, tiles.chunk):
        bins = no_bins()
        for k in share(tiles, start):
            bins = advance_box(part, s, alpha, tiles, box_at(part, tiles, k), thread, bins)
        add_to_words(scalars.words + SLOT_BYTES + RR, bins)


def inner(ctx, part: Part, a, b, words):
    """a * b of two fields, added to ``words``."""
    chunk = max(1, MAX_VALUES // part.nz) * blocks()
    for start in range(0, part.nx * part.ny, chunk):
        bins = no_bins()
        for row in range(start + block(), min(start + chunk, part.nx * part.ny), blocks()):
            at = row_at(part, row)
            for i in lanes(at, at + part.nz):
                bins = add_to_bins(bins, (1.0 * load(a, i)) * (1.0 * load(b, i)))
        add_to_words(words, bins)


def residual(ctx, part: Part, r, f, u):
    """r = f - A u."""
    for row in range(block(), part.nx * part.ny, blocks()):
        at = row_at(part, row)
        for i in lanes(at, at + part.nz):
            store(r, i, load(f, i) - applied(part, u, i))
