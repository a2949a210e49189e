"""Passes of a grid of two dimensions on a GPU: a warp goes down the rows.

A warp holds, in registers, 32 lanes x LANE_BYTES of three rows of each of T levels.  A row of the field is loaded as
level 0.  Level s + 1 of the row above it can then be computed, level s + 2 of the row above that one, and so on; level T
is stored.  The neighbours of a column are in registers of this lane, or of the next lane (one shuffle).  Each sweep
spoils one more column at either edge of the warp, so two warps compute the outermost columns: that takes no shared
memory and no barrier.

A level is a closure over the next one, and its state holds that of the next one.  The loop does three rows an iteration,
in which the three rows of a level exchange their roles, so that no register is copied.

References: Micikevicius streams along one axis with the planes in registers (3D finite difference computation on GPUs,
GPGPU-2, 2009); AN5D does many time levels a pass through shared memory (Matsumura and others, CGO 2020).
"""

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

from ...kernels.block import Elements, Words, block, real
from ...kernels.sweep.formula import Stencil, numbers_of
from ...kernels.sweep.records import Box, Cut, SweepFields
from .cutting import MAX_PREFETCH_ROWS, PREFETCH_ROWS, ROWS_AT_A_TIME, WARPS
from .levels import Level, after_last, level
from .rows import columns_of, kept_columns, lane_of, store, sweep
from .warp import between, least, load_row, prefetch, warp_number


class Rows(NamedTuple):
    """The rows of a warp.

    old, coefficient, new: addresses of the lane's part of row 0;  pitch_bytes: from a row to the next
    own, n_own:  the first row that the warp keeps, and their number
    first, stop: the live rows
    last:        the last row that is read
    """

    old: int
    coefficient: int
    new: int
    pitch_bytes: int
    own: int
    n_own: int
    first: int
    stop: int
    last: int


def _reader(stencil: Stencil, ahead: int) -> Callable[..., Any]:
    """``read(rows, r, like)``: row r + 1, and the coefficients of row r.  ahead: how many rows farther it prefetches"""
    has_coefficient = stencil.has_coefficient

    def row_at(base, r, rows, like):
        if ahead > 0:
            prefetch(base + least(r + ahead, rows.last) * rows.pitch_bytes)
        return load_row(base + r * rows.pitch_bytes, like)

    def read(rows, r, like):
        row = row_at(rows.old, r + 1, rows, like)
        return row, row_at(rows.coefficient, max(r, rows.first), rows, like) if has_coefficient else row

    return read


def _reading(read: Callable[..., Any], then: Level, careful: bool) -> Level:
    """Between level 1, of which it takes row r + 1, and what comes after: read what level 1 takes for row r + 2.

    Then a row is on its way while all further levels are computed, and has the registers of one that level 1 has left.
    """
    next_start, next_advance, next_finish = then.start, then.advance, then.finish

    def start(rows, given):
        return given, (), next_start(rows, given)

    def advance(state, given, r, rows, lane):
        at = between(r + 2, rows.first - 2, rows.stop - 1) if careful else r + 2
        return read(rows, at, given[0][0]), (), next_advance(state[2], given, r, rows, lane)

    def finish(state, words):
        next_finish(state[2], words)

    return then._replace(start=start, advance=advance, finish=finish)


def _storing(stencil: Stencil) -> Level:
    """What comes after the last level."""
    store_row = store(stencil)

    def advance(state, given, r, rows, lane):
        store_row(given[0], rows.new + (r + 1) * rows.pitch_bytes, lane)
        return state

    return after_last(advance)


def _marching(stencil: Stencil, made: Level, later: int, careful: bool, wall: int) -> Level:
    """The level with ``advance(state, given, r, ...)``, which computes row r.

    given:   row r + 1 of the level before, and the coefficients of row r
    careful: the row may not be live, or not be needed yet
    """
    next_advance, add, new_row = made.advance, made.add, sweep(stencil, careful, wall)
    more_coefficients = stencil.has_coefficient and later > 0

    def advance(state, given, r, rows, lane):
        ((u, c), squares, after), (d, coefficients) = state, given
        more = load_row(rows.coefficient + (r - 1) * rows.pitch_bytes, c[0]) if more_coefficients else coefficients
        new = new_row(u, c, d, lane, coefficients)
        if r < rows.own + rows.n_own:
            squares = add(squares, new, c, lane)
        return (c, d), squares, next_advance(after, (new, more), r - 1, rows, lane)

    def advance_carefully(state, given, r, rows, lane):
        ((u, c), squares, after), (d, coefficients) = state, given
        if r >= rows.own - later:
            new = more = c
            if more_coefficients:
                more = load_row(rows.coefficient + between(r - 1, rows.first, rows.stop) * rows.pitch_bytes, c[0])
            if rows.first <= r and r < rows.stop:
                new = new_row(u, c, d, lane, coefficients)
            if rows.own <= r and r < rows.own + rows.n_own:
                squares = add(squares, new, c, lane)
            after = next_advance(after, (new, more), r - 1, rows, lane)
        return (c, d), squares, after

    return made._replace(advance=advance_carefully if careful else advance)


def _levels(stencil: Stencil, depth: int, norms: str, careful: bool, wall: int) -> Level:
    """The levels; the state of the first one holds, in state[2][0], what it takes next."""
    read = _reader(stencil, PREFETCH_ROWS.get(depth, MAX_PREFETCH_ROWS))
    first = _storing(stencil)
    for later in range(depth):
        then = _reading(read, first, careful) if later == depth - 1 else first
        first = _marching(stencil, level(stencil, later, depth, norms, then), later, careful, wall)
    return first


@cache
def march(stencil: Stencil, depth: int, norms: str, wall: int) -> Callable[..., None]:
    """The kernel of passes of ``depth`` sweeps.  wall: see ``rows.sweep``"""
    width, item_bytes = columns_of(stencil), stencil.item_bytes
    keeps = kept_columns(stencil, depth)
    start, advance_carefully, finish, _ = _levels(stencil, depth, norms, True, wall)
    advance = _levels(stencil, depth, norms, False, wall).advance
    read = _reader(stencil, 0)
    lane_at, read_numbers = lane_of(stencil, depth, wall), numbers_of(stencil)

    def kernel(ctx, fields: SweepFields, box: Box, live: Box, cut: Cut, values: Elements, words: Words, scratch):
        lead, pitch_bytes = cut.lead, fields.row * item_bytes
        origin = box.z0 - ((box.z0 + lead) & (width - 1))
        across = (box.z1 - origin + keeps - 1) // keeps
        warp = block() * WARPS + warp_number()
        own = box.y0 + warp // across * cut.chunk
        n_own = min(cut.chunk, box.y1 - own)
        if n_own <= 0:
            return
        left = origin + warp % across * keeps
        lane = lane_at(left, box, live, lead, read_numbers(values))
        at = between(lane.column, -lead, fields.row - lead - width) * item_bytes
        # Level 1 computes row r, and level s row r - s + 1.
        r, end = own - depth + 1, own + n_own + depth - 1
        inner, inner_end = own + depth - 1, min(end, live.y1)
        old, coefficient, new = fields.old + at, fields.coefficient + at, fields.new + lane.half * item_bytes
        rows = Rows(old, coefficient, new, pitch_bytes, own, n_own, live.y0, live.y1, min(end + 1, live.y1))
        u, _ = read(rows, between(r - 2, live.y0 - 2, live.y1 - 1), real(0.0))
        c, _ = read(rows, between(r - 1, live.y0 - 2, live.y1 - 1), real(0.0))
        state = start((u, c), read(rows, between(r, live.y0 - 2, live.y1 - 1), real(0.0)))
        while r < end:
            while inner <= r and r + ROWS_AT_A_TIME <= inner_end:
                state = advance(state, state[2][0], r, rows, lane)
                state = advance(state, state[2][0], r + 1, rows, lane)
                state = advance(state, state[2][0], r + 2, rows, lane)
                r += ROWS_AT_A_TIME
            if r < end:
                state = advance_carefully(state, state[2][0], r, rows, lane)
                r += 1
        finish(state, words)

    return kernel
