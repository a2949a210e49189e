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
from ..intrinsics import prefetch
from .cutting import MAX_PREFETCH_ROWS, PREFETCH_ROWS, ROWS_AT_A_TIME, WARPS
from .level_squares import level_squares
from .rows import NO_WALL, columns_of, kept_columns, lane_of, store, sweep
from .warp import between, least, load_row, pick, warp_number


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


class Level(NamedTuple):
    """A level, and all that come after it.

    start(rows, given) -> state: (rows that it remembers, the state of the next level);  rows: that level 1 remembers
    advance(state, ...) -> state: takes a row of the level before
    """

    start: Callable[..., Any]
    advance: Callable[..., Any]


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
    next_start, next_advance = then

    def start(rows, given):
        return given, next_start(rows, given)

    def advance(state, given, r, rows, lane, leaves):
        at = between(r + 2, rows.first - 2, rows.stop - 1) if careful else r + 2
        return read(rows, at, given[0][0]), next_advance(state[1], given, r, rows, lane, leaves)

    return Level(start, advance)


def _storing(stencil: Stencil) -> Level:
    """What comes after the last level."""
    store_row = store(stencil)

    def advance(state, given, r, rows, lane, leaves):
        store_row(given[0], rows.new + (r + 1) * rows.pitch_bytes, lane)
        return state

    return Level(_nothing, advance)


def _nothing(*args):
    return ()


def _marching(stencil: Stencil, then: Level, later: int, careful: bool, wall: int, leave: Callable[..., None]) -> Level:
    """The level with ``advance(state, given, r, ...)``, which computes row r.  later: levels after it

    given:   row r + 1 of the level before, and the coefficients of row r
    careful: the row may not be live, or not be needed yet
    leave:   values of the norm
    """
    (next_start, next_advance), new_row = then, sweep(stencil, careful, wall)
    more_coefficients = stencil.has_coefficient and later > 0

    def start(rows, given):
        return rows, next_start(rows, given)

    def advance(state, given, r, rows, lane, leaves):
        ((u, c), after), (d, coefficients) = state, given
        more = load_row(rows.coefficient + (r - 1) * rows.pitch_bytes, c[0]) if more_coefficients else coefficients
        new = new_row(u, c, d, lane, coefficients)
        leave(new, c, lane, leaves)
        return (c, d), next_advance(after, (new, more), r - 1, rows, lane, leaves)

    def advance_carefully(state, given, r, rows, lane, leaves):
        ((u, c), after), (d, coefficients) = state, given
        if r >= rows.own - later:
            new = more = c
            if more_coefficients:
                more = load_row(rows.coefficient + between(r - 1, rows.first, rows.stop) * rows.pitch_bytes, c[0])
            if rows.first <= r and r < rows.stop:
                new = new_row(u, c, d, lane, coefficients)
                leave(new, c, lane, leaves)
            after = next_advance(after, (new, more), r - 1, rows, lane, leaves)
        return (c, d), after

    return Level(start, advance_carefully if careful else advance)


def _levels(stencil: Stencil, depth: int, norms: str, careful: bool, wall: int) -> Level:
    """The levels; the state of the first one holds, in state[1][0], what it takes next."""
    squares = level_squares(stencil, depth, norms)
    read = _reader(stencil, PREFETCH_ROWS.get(depth, MAX_PREFETCH_ROWS))
    first = _storing(stencil)
    for later in range(depth):
        then = _reading(read, first, careful) if later == depth - 1 else first
        first = _marching(stencil, then, later, careful, wall, squares.leave(later, careful, wall))
    return first


@cache
def march(stencil: Stencil, depth: int, norms: str, wall: int) -> Callable[..., None]:
    """The kernel of passes of ``depth`` sweeps.  wall: see ``rows.sweep``"""
    width, item_bytes = columns_of(stencil), stencil.item_bytes
    keeps = kept_columns(stencil, depth)
    start, advance_carefully = _levels(stencil, depth, norms, True, wall)
    advance = _levels(stencil, depth, norms, False, wall).advance
    _, row_bytes, start_squares, clear, level, _, add, finish = level_squares(stencil, depth, norms)
    add_row, add_rows = add(1), add(ROWS_AT_A_TIME)
    may_be_cut = wall == NO_WALL and norms != "none"
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
        shared, squares = clear(), start_squares()
        lane = lane_at(left, box, live, lead, read_numbers(values), shared)
        at = between(lane.column, -lead, fields.row - lead - width) * item_bytes
        # Level 1 computes row r, and level s row r - s + 1.
        r, end = own - depth + 1, own + n_own + depth - 1
        inner, inner_end = own + depth - 1, pick(may_be_cut & lane.ragged, own, min(end, live.y1))
        old, coefficient, new = fields.old + at, fields.coefficient + at, fields.new + lane.half * item_bytes
        rows = Rows(old, coefficient, new, pitch_bytes, own, n_own, live.y0, live.y1, min(end + 1, live.y1))
        u, _ = read(rows, between(r - 2, live.y0 - 2, live.y1 - 1), real(0.0))
        c, _ = read(rows, between(r - 1, live.y0 - 2, live.y1 - 1), real(0.0))
        state = start((u, c), read(rows, between(r, live.y0 - 2, live.y1 - 1), real(0.0)))
        while r < end:
            while inner <= r and r + ROWS_AT_A_TIME <= inner_end:
                state = advance(state, state[1][0], r, rows, lane, lane.leaves)
                state = advance(state, state[1][0], r + 1, rows, lane, lane.leaves + row_bytes)
                state = advance(state, state[1][0], r + 2, rows, lane, lane.leaves + 2 * row_bytes)
                squares = add_rows(squares, shared, r - own - level(), n_own)
                r += ROWS_AT_A_TIME
            if r < end:
                state = advance_carefully(state, state[1][0], r, rows, lane, lane.leaves)
                squares = add_row(squares, shared, r - own - level(), n_own)
                r += 1
        finish(words, squares)

    return kernel
