"""The kernels of an iteration, ``turn``, ``advance`` and ``note``, and two that take rows of nz points.

The first two take tiles.  Threads of a GPU take columns of pairs of a tile, see pairs.py; a thread of a CPU, which is
alone in its block, takes its rows.  ``turn_of`` and ``advance_of`` make them for elements of so many bytes, which the
compiler then knows.

A product that a sum takes is one of ``product``, which no compiler fuses with the sum: all kernels that compute the same
thing have the same bits, and a GPU is expected to have a CPU's.
"""

from functools import cache
from typing import NamedTuple

from pennympi.kernels.block import (
    add_shared,
    alone,
    block,
    blocks,
    copy,
    lanes,
    load,
    product,
    read_epoch,
    real,
    store,
    sync,
)
from pennympi.kernels.in_kernel import MAX_VALUES, WORDS, WORDS_BYTES, Bins, add_to_bins, add_to_words, no_bins, read_sum

from .pairs import advance_pairs, turn_pairs
from .points import applied, direction, quotient, row_at, stencil, width
from .records import PAP, RR, Box, Directions, Part, Scalars, Solution, Tiles, Vectors

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


def ratio(a, b):
    """a / b; 0 where b is: a residual of 0 needs no more steps."""
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


def now_of(s: Scalars):
    """See ``Now``."""
    k = read_epoch(s.runs, 0)
    at = s.history + k * WORDS_BYTES
    rr = read_sum(at + WORDS_BYTES)
    return Now(k, rr, read_sum(at), k % s.period == 0 or rr > s.below)


def directions_of(v: Vectors, k):
    """Those of iteration k."""
    return Directions(v.odd, v.even, v.r) if k & 1 == 0 else Directions(v.even, v.odd, v.r)


def box_at(part: Part, tiles: Tiles, k):
    """Tile number k."""
    plane = quotient(k, tiles.beside)
    begin, x = (k - plane * tiles.beside) * tiles.run, plane * tiles.planes
    stop = min(begin + tiles.run, part.ny * width(part))
    return Box(x, min(tiles.planes, part.nx - x), begin, stop, part.first + x * part.plane)


def own_rows(part: Part, box: Box):
    """The first points of a box's rows, in its first plane."""
    first, stop = quotient(box.begin, width(part)), quotient(box.stop, width(part))
    return range(box.at + first * part.row, box.at + stop * part.row, part.row)


def share(tiles: Tiles, start):
    """This block's share of the tiles from ``start`` on that are added up before they become words."""
    return range(start + block(), min(start + tiles.chunk, tiles.number), blocks())


def turn_line(part: Part, d: Directions, beta, at, n):
    """new = the new direction at n points in a halo."""
    for i in range(at, at + n):
        store(d.new, i, direction(d, beta, i))


def turn_row(part: Part, d: Directions, beta, at, bins: Bins):
    """The same on a row, and at its ends: the bins with its p * A p."""
    for i in range(at, at + part.nz):
        here = direction(d, beta, i)
        x = direction(d, beta, i - part.plane) + direction(d, beta, i + part.plane)
        y = direction(d, beta, i - part.row) + direction(d, beta, i + part.row)
        z = direction(d, beta, i - 1) + direction(d, beta, i + 1)
        store(d.new, i, here)
        bins = add_to_bins(bins, (1.0 * here) * (1.0 * stencil(part, here, x, y, z)))
    turn_line(part, d, beta, at - 1, 1)
    turn_line(part, d, beta, at + part.nz, 1)
    return bins


def turn_rows(part: Part, d: Directions, beta, box: Box, bins: Bins):
    """The same on all rows of a box, and on those in a halo beside them."""
    for x in range(box.nx):
        beyond = x * part.plane
        for first in own_rows(part, box):
            row = first + beyond
            bins = turn_row(part, d, beta, row, bins)
            if box.x + x == 0:
                turn_line(part, d, beta, row - part.plane, part.nz)
            if box.x + x == part.nx - 1:
                turn_line(part, d, beta, row + part.plane, part.nz)
        if box.begin == 0:
            turn_line(part, d, beta, box.at + beyond - part.row, part.nz)
        if box.stop == part.ny * width(part):
            turn_line(part, d, beta, box.at + beyond + part.ny * part.row, part.nz)
    return bins


def turn_box(part: Part, d: Directions, beta, item, box: Box, thread: Lane, bins: Bins):
    """new = the new direction on a box, and in a halo beside it: the bins with p * A p.

    The neighbours' part of r has come, and that of old was computed as here: so no direction travels.
    """
    if alone():
        return turn_rows(part, d, beta, box, bins)
    k = box.begin + 2 * thread.first
    while k < box.stop:
        bins = turn_pairs(part, d, beta, item, box, k, bins)
        k += 2 * thread.step
    return bins


def turn_tiles(part: Part, d: Directions, beta, item, tiles: Tiles, start):
    """``turn_box`` on this block's share of the tiles from ``start`` on."""
    bins, thread = no_bins(), lane()
    for k in share(tiles, start):
        bins = turn_box(part, d, beta, item, box_at(part, tiles, k), thread, bins)
    return bins


def advance_rows(part: Part, s: Solution, alpha, box: Box, bins: Bins):
    """u += alpha p, r -= alpha A p on the rows of a box: the bins with its r * r."""
    for x in range(box.nx):
        for first in own_rows(part, box):
            for i in range(first + x * part.plane, first + x * part.plane + part.nz):
                store(s.u, i, load(s.u, i) + product(real(alpha), load(s.p, i)))
                left = load(s.r, i) - product(real(alpha), applied(part, s.p, i))
                store(s.r, i, left)
                bins = add_to_bins(bins, (1.0 * left) * (1.0 * left))
    return bins


def advance_box(part: Part, s: Solution, alpha, item, box: Box, thread: Lane, bins: Bins):
    """u += alpha p, r -= alpha A p on a box: the bins with its r * r."""
    if alone():
        return advance_rows(part, s, alpha, box, bins)
    k = box.begin + 2 * thread.first
    while k < box.stop:
        bins = advance_pairs(part, s, alpha, item, box, k, bins)
        k += 2 * thread.step
    return bins


@cache
def turn_of(item):
    """``turn`` for elements of so many bytes."""

    def turn(ctx, part: Part, v: Vectors, s: Scalars, tiles: Tiles):
        """The first half of an iteration, up to the sum p * A p."""
        now = now_of(s)
        d, beta = directions_of(v, now.k), ratio(now.rr, now.before)
        for start in range(0, tiles.number if now.goes_on else 0, tiles.chunk):
            add_to_words(s.words + PAP, turn_tiles(part, d, beta, item, tiles, start))

    return turn


@cache
def advance_of(item):
    """``advance`` for elements of so many bytes."""

    def advance(ctx, part: Part, v: Vectors, s: Scalars, tiles: Tiles):
        """The second half, up to the sum r * r."""
        now, thread = now_of(s), lane()
        alpha, solution = ratio(now.rr, read_sum(s.totals + PAP)), Solution(v.u, v.r, directions_of(v, now.k).new)
        for start in range(0, tiles.number if now.goes_on else 0, tiles.chunk):
            bins = no_bins()
            for k in share(tiles, start):
                bins = advance_box(part, solution, alpha, item, box_at(part, tiles, k), thread, bins)
            add_to_words(s.words + RR, bins)

    return advance


def note(ctx, s: Scalars, value):
    """The end of an iteration: keep r * r, also as the float64 ``value``, count it, and begin new sums."""
    now = now_of(s)
    if now.goes_on:
        rr = s.history + (now.k + 2) * WORDS_BYTES
        copy(rr, s.totals + RR, WORDS_BYTES)
        sync()
        for k in lanes(0, 2 * WORDS):
            add_shared(s.words, k, -read_epoch(s.words, k))
        for _ in lanes(0, 1):
            add_shared(s.runs, 0, 1)
            store(value, 0, read_sum(rr))


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
