"""``update_direction`` and ``update_solution`` on a CPU, where a block is one thread; pairs.py has them for a GPU.

Both backends run ``note``, which counts iterations, and ``inner`` and ``residual``, which work by rows of nz points.
Products that are added are made by ``product``, which no compiler fuses with the sum, so all kernels give the same bits.
"""

from pennympi.kernels.block import (
    add_shared,
    block,
    blocks,
    copy,
    is_leader,
    lanes,
    load,
    product,
    read_epoch,
    real,
    store,
    sync,
)
from pennympi.kernels.in_kernel import MAX_VALUES, WORDS, WORDS_BYTES, add_to_bins, add_to_words, no_bins, read_sum

from .points import applied, direction, directions_of, now_of, ratio, row_at
from .records import Part, Scalars, Vectors

MARK = WORDS - 1  # the word of a sum r * r that counts the PEs which did the iteration


def chunk_of(part: Part):
    """The number of rows that one thread may add to its bins before it must turn them into words."""
    return max(1, MAX_VALUES // 4 // part.nz)


def update_direction(ctx, part: Part, v: Vectors, s: Scalars, ahead: int):
    """The first half of an iteration: the new direction, and the sum p * A p.

    The halo of r has arrived, and the halo of the old direction was computed in the same way: no direction is sent.
    """
    now, rows, chunk = now_of(s, ahead), part.nx * part.ny, chunk_of(part)
    d, beta = directions_of(v, now.k), ratio(now.rr, now.before)
    for x in range(-1, part.nx + 1 if now.goes_on else -1):
        for y in range(-1, part.ny + 1):
            at, own_x, own_y = part.first + x * part.plane + y * part.row, 0 <= x < part.nx, 0 <= y < part.ny
            ends = 1 if own_x and own_y else 0
            for i in range(at - ends, at + part.nz + ends if own_x or own_y else at):
                store(d.new, i, direction(d, beta, i))
    for start in range(0, rows if now.goes_on else 0, chunk):
        bins = no_bins()
        for row in range(start, min(start + chunk, rows)):
            at = row_at(part, row)
            for i in range(at, at + part.nz):
                bins = add_to_bins(bins, (1.0 * load(d.new, i)) * (1.0 * applied(part, d.new, i)))
        add_to_words(s.pap + now.k * s.stride, bins)


def update_solution(ctx, part: Part, v: Vectors, s: Scalars, ahead: int):
    """The second half: u += alpha p, r -= alpha A p, and the sum r * r."""
    now, rows, chunk = now_of(s, ahead), part.nx * part.ny, chunk_of(part)
    p, alpha = directions_of(v, now.k).new, ratio(now.rr, read_sum(s.total + now.k * s.stride))
    for start in range(0, rows if now.goes_on else 0, chunk):
        bins = no_bins()
        for row in range(start, min(start + chunk, rows)):
            at = row_at(part, row)
            for i in range(at, at + part.nz):
                store(v.u, i, load(v.u, i) + product(real(alpha), load(p, i)))
                left = load(v.r, i) - product(real(alpha), applied(part, p, i))
                store(v.r, i, left)
                bins = add_to_bins(bins, (1.0 * left) * (1.0 * left))
        add_to_words(s.rr + now.k * s.stride, bins)
    mark(s, now.k, now.goes_on)


def mark(s: Scalars, k, goes_on):
    """Record in the sum's words that this PE does iteration k."""
    if block() == 0 and is_leader() and goes_on:
        add_shared(s.rr + k * s.stride, MARK, 1)


def note(ctx, s: Scalars, number: int, totals, value):
    """After ``number`` iterations: count those that were done, and store the last r * r as the float64 ``value``.

    totals: on several PEs, the address of the iteration's two sums over all PEs; on one PE, 0
    """
    k = read_epoch(s.runs, 0)
    done, at = k, s.history + (k + 1) * WORDS_BYTES
    if totals != 0:
        copy(at + WORDS_BYTES, totals + WORDS_BYTES, WORDS_BYTES)
        for i in lanes(0, 2 * WORDS):
            add_shared(s.pap, i, -read_epoch(s.pap, i))
    sync()
    for j in range(1, number + 1):
        done += min(1, read_epoch(at + j * WORDS_BYTES, MARK))
    for _ in lanes(0, 1):
        add_shared(s.runs, 0, done - k)
        store(value, 0, read_sum(s.history + (done + 1) * WORDS_BYTES))


def inner(ctx, part: Part, a, b, words):
    """Add the dot product of two fields to ``words``."""
    chunk = chunk_of(part) * blocks()
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
