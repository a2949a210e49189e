"""The kernels of an iteration.  All take the blocks of a launch by rows, which are lines of nz points.

On a GPU a division of 64-bit integers is dozens of instructions, and a range with a step has one.  So ``turn`` and
``advance``, which an iteration consists of, have none for a row.

No product is fused with the sum that takes it, which a GPU's compiler does or leaves as it likes: all kernels that
compute the same thing have the same bits, and a GPU is expected to have a CPU's.
"""

from typing import NamedTuple

from pennympi.kernels.block import block, blocks, lanes, load, real, store
from pennympi.kernels.in_kernel import MAX_VALUES, add_to_bins, add_to_words, no_bins, read_sum

from .records import PAP, RR, SLOT_BYTES, Directions, Part, Scalars, Solution

LARGEST = 3e38
TWICE_MOST_THREADS = 1024


class Lane(NamedTuple):
    """The first index of this thread, and how far it is to its next one: 0 and 1 on a CPU."""

    first: int
    step: int


def lane():
    """This thread's place in its block."""
    first = -1
    for k in lanes(0, TWICE_MOST_THREADS):
        if first >= 0:
            return Lane(first, k - first)
        first = k
    return Lane(first, 1)


def quotient(a, b):
    """a // b, for 0 <= a < 2**50: a / b is at least 1 / (2 b) from what would round to another number."""
    return int((a + 0.5) * (1.0 / b))


def unfused(product):
    """The product.  A compiler can't know that the minimum changes nothing, and fuses no addition with what is before."""
    return min(product, real(LARGEST))


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


def outer_row_at(part: Part, row):
    """The same of all rows, those beyond the faces along x and y among them: (point, whether the row is an own one)."""
    beyond = 1 if part.plane > 0 else 0
    plane = quotient(row, part.ny + 2)
    x, y = plane - beyond, row - plane * (part.ny + 2) - 1
    inside = x >= 0 and x < part.nx and y >= 0 and y < part.ny
    return part.first + x * part.plane + y * part.row, inside


def outer_rows(part: Part):
    """How many rows ``outer_row_at`` numbers."""
    beyond = 2 if part.plane > 0 else 0
    return (part.nx + beyond) * (part.ny + 2)


def stencil(part: Part, here, x, y, z):
    """-laplace at a point, times the scale.  x, y, z: the sums of its two neighbours along each dimension"""
    twice = here + here
    along_x, along_y = unfused(real(part.wx) * (twice - x)), unfused(real(part.wy) * (twice - y))
    return (along_x + along_y) + unfused(real(part.wz) * (twice - z))


def applied(part: Part, u, at):
    """``stencil`` of a field."""
    x = load(u, at - part.plane) + load(u, at + part.plane)
    y = load(u, at - part.row) + load(u, at + part.row)
    return stencil(part, load(u, at), x, y, load(u, at - 1) + load(u, at + 1))


def direction(d: Directions, weight, beta, at):
    """The new direction at a point."""
    return unfused(real(weight) * load(d.z, at)) + unfused(real(beta) * load(d.old, at))


def chunk_rows(part: Part):
    """How many rows are added up before they become words."""
    return max(1, MAX_VALUES // part.nz)


def turn_rows(part: Part, d: Directions, weight, beta, start):
    """new = the new direction, also where neighbours' points are known: the bins of p * A p.

    start: the first of ``chunk_rows`` outer rows.  The neighbours' part of z has come, and that of old was computed as
    here: so no direction travels
    """
    bins, thread = no_bins(), lane()
    for row in range(start + block(), min(start + chunk_rows(part), outer_rows(part)), blocks()):
        at, inside = outer_row_at(part, row)
        i = at + thread.first
        if inside:
            k = thread.first
            while k < 2:
                end = at - 1 + k * (part.nz + 1)
                store(d.new, end, direction(d, weight, beta, end))
                k += thread.step
            while i < at + part.nz:
                here = direction(d, weight, beta, i)
                x = direction(d, weight, beta, i - part.plane) + direction(d, weight, beta, i + part.plane)
                y = direction(d, weight, beta, i - part.row) + direction(d, weight, beta, i + part.row)
                z = direction(d, weight, beta, i - 1) + direction(d, weight, beta, i + 1)
                store(d.new, i, here)
                bins = add_to_bins(bins, (1.0 * here) * (1.0 * stencil(part, here, x, y, z)))
                i += thread.step
        else:
            while i < at + part.nz:
                store(d.new, i, direction(d, weight, beta, i))
                i += thread.step
    return bins


def advance_row(part: Part, s: Solution, alpha, at, thread: Lane, bins):
    """u += alpha p, r -= alpha A p on the row at a point: the bins with its r * r."""
    i = at + thread.first
    while i < at + part.nz:
        store(s.u, i, load(s.u, i) + unfused(real(alpha) * load(s.p, i)))
        left = load(s.r, i) - unfused(real(alpha) * applied(part, s.p, i))
        store(s.r, i, left)
        bins = add_to_bins(bins, (1.0 * left) * (1.0 * left))
        i += thread.step
    return bins


def stop_of(part: Part, start):
    """Where the chunk of own rows from ``start`` on ends."""
    return min(start + chunk_rows(part), part.nx * part.ny)


def turn(ctx, part: Part, d: Directions, scalars: Scalars):
    """The first half of an iteration, up to the sum p * A p."""
    beta = beta_of(scalars)
    for start in range(0, outer_rows(part), chunk_rows(part)):
        add_to_words(scalars.words + PAP, turn_rows(part, d, scalars.weight, beta, start))


def advance(ctx, part: Part, s: Solution, scalars: Scalars):
    """The second half.  The sum r * r is the next iteration's."""
    alpha, thread = alpha_of(scalars), lane()
    for start in range(0, part.nx * part.ny, chunk_rows(part)):
        bins = no_bins()
        for row in range(start + block(), stop_of(part, start), blocks()):
            bins = advance_row(part, s, alpha, row_at(part, row), thread, bins)
        add_to_words(scalars.words + SLOT_BYTES + RR, bins)


def inner(ctx, part: Part, a, b, words):
    """a * b of two fields, added to ``words``."""
    for start in range(0, part.nx * part.ny, chunk_rows(part)):
        bins = no_bins()
        for row in range(start + block(), stop_of(part, start), blocks()):
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
