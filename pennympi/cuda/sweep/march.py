"""Passes of a grid of two dimensions on a GPU: a warp goes down the rows.

A warp holds, in registers, 32 lanes x LANE_BYTES of three rows of each of T levels.  A row of the field is loaded as
level 0.  Level s + 1 of the row above it can then be computed, level s + 2 of the row above that one, and so on; level T
is stored.  The neighbours of a column are in registers of this lane, or of the next lane (one shuffle).  Each sweep
spoils one more column at either edge of the warp, so two warps compute the outermost columns: that takes no shared
memory and no barrier.

A level calls the next one, and its state holds that of the next one.  The loop does three rows an iteration, in which
the three rows of a level exchange their roles, so that no register is copied.

References: Micikevicius streams along one axis with the planes in registers (3D finite difference computation on GPUs,
GPGPU-2, 2009); AN5D does many time levels a pass through shared memory (Matsumura and others, CGO 2020).
"""

from typing import NamedTuple

from ...compile.unroll import Static
from ...kernels.block import Elements, Words, block, real
from ...kernels.sweep.formula import read_numbers
from ...kernels.sweep.records import Box, Cut, SweepFields
from ..intrinsics import paths_meet, prefetch
from .cutting import ROWS_AT_A_TIME, WARPS, prefetch_rows
from .level_squares import (
    Level,
    add_rows_of_level,
    clear_values,
    finish_squares,
    leave_value,
    level_of_lane,
    norms_of,
    squares_before_rows,
)
from .rows import NO_WALL, Edges, Lane, March, first_column, lane_at, next_row, store_row
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


class Turn(NamedTuple):
    """A row of a level: its number, the rows of the warp, the lane, and where the lane leaves values of the norm."""

    r: int
    rows: Rows
    lane: Lane
    leaves: int


def read_rows(march: Static[March], ahead: Static[int], rows: Rows, r, like):
    """Row r + 1, and the coefficients of row r.  ahead: how many rows farther it prefetches"""
    row = read_row(ahead, rows.old, rows, r + 1, like)
    if not march.stencil.has_coefficient:
        return row, row
    return row, read_row(ahead, rows.coefficient, rows, max(r, rows.first), like)


def read_row(ahead: Static[int], base, rows: Rows, r, like):
    """Row r of the field at an address."""
    if ahead > 0:
        prefetch(base + least(r + ahead, rows.last) * rows.pitch_bytes)
    return load_row(base + r * rows.pitch_bytes, like)


def start(march: Static[March], later: Static[int], rows, given):
    """The state of a level before its first row: (the rows that it remembers, the state of what follows).

    The first level, depth - 1, is followed by what it takes next, ``given``, and the state of the next level.
    """
    rest = start(march, later - 1, rows, given) if later > 0 else ()
    return rows, ((given, rest) if later == march.depth - 1 else rest)


def advance(march: Static[March], later: Static[int], state, given, turn: Turn):
    """The state of a level after row r, and those of the levels after it.  All columns and rows count.

    given: row r + 1 of the level before, and the coefficients of row r
    """
    ((u, c), after), (d, coefficients), (r, rows, lane, leaves) = state, given, turn
    more = coefficients
    if march.stencil.has_coefficient and later > 0:
        more = load_row(rows.coefficient + (r - 1) * rows.pitch_bytes, c[0])
    new = next_row(march, False, (u, c, d), lane, coefficients)
    leave_value(march, Level(later, False), (new, c), lane, leaves)
    return (c, d), follow(march, Level(later, False), after, (new, more), Turn(r - 1, rows, lane, leaves))


def advance_carefully(march: Static[March], later: Static[int], state, given, turn: Turn):
    """As ``advance``, where the row may not be live, or not be needed yet, and columns may not count."""
    ((u, c), after), (d, coefficients), (r, rows, lane, leaves) = state, given, turn
    if r >= rows.own - later:
        new = more = c
        if march.stencil.has_coefficient and later > 0:
            more = load_row(rows.coefficient + between(r - 1, rows.first, rows.stop) * rows.pitch_bytes, c[0])
        if rows.first <= r and r < rows.stop:
            new = next_row(march, True, (u, c, d), lane, coefficients)
            leave_value(march, Level(later, True), (new, c), lane, leaves)
        after = follow(march, Level(later, True), after, (new, more), Turn(r - 1, rows, lane, leaves))
    paths_meet()
    return (c, d), after


def follow(march: Static[March], level: Static[Level], state, given, turn: Turn):
    """The state of what follows a level.

    After the first level, what it takes next is read: a row is on its way while all further levels are computed, and has
    the registers of one that the first level has left.
    """
    if level.later == march.depth - 1:
        rows, r = turn.rows, turn.r + 2
        if level.careful:
            r = between(r, rows.first - 2, rows.stop - 1)
        return read_rows(march, prefetch_rows(march.depth), rows, r, given[0][0]), next_level(
            march, level, state[1], given, turn
        )
    return next_level(march, level, state, given, turn)


def next_level(march: Static[March], level: Static[Level], state, given, turn: Turn):
    """The state of the level after a level; after the last one its row is stored."""
    if level.later == 0:
        store_row(march.width, given[0], turn.rows.new + (turn.r + 1) * turn.rows.pitch_bytes, turn.lane)
        return state
    if level.careful:
        return advance_carefully(march, level.later - 1, state, given, turn)
    return advance(march, level.later - 1, state, given, turn)


def march_down(
    march: Static[March],
    ctx,
    fields: SweepFields,
    box: Box,
    live: Box,
    cut: Cut,
    values: Elements,
    words: Words,
    scratch,
):
    """The kernel of a pass."""
    lead, pitch_bytes = cut.lead, fields.row * march.stencil.item_bytes
    origin = first_column(march.width, box, lead)
    across = (box.z1 - origin + march.keeps - 1) // march.keeps
    warp = block() * WARPS + warp_number()
    own = box.y0 + warp // across * cut.chunk
    n_own = min(cut.chunk, box.y1 - own)
    if n_own <= 0:
        return
    shared, squares = clear_values(march), squares_before_rows(march)
    left = origin + warp % across * march.keeps
    lane = lane_at(march, left, Edges(box, live, lead), read_numbers(march.stencil, values), shared)
    at = between(lane.column, -lead, fields.row - lead - march.width) * march.stencil.item_bytes
    old, coefficient, new = fields.old + at, fields.coefficient + at, fields.new + lane.half * march.stencil.item_bytes
    end = own + n_own + march.depth - 1
    rows = Rows(old, coefficient, new, pitch_bytes, own, n_own, live.y0, live.y1, min(end + 1, live.y1))
    squares = march_rows(march, rows, lane, shared, squares)
    finish_squares(march, words, squares)


def march_rows(march: Static[March], rows: Rows, lane: Lane, shared, squares):
    """All rows of a warp.  Level 1 computes row r, and level s row r - s + 1."""
    depth, row_bytes, own, n_own = march.depth, norms_of(march).row_bytes, rows.own, rows.n_own
    first = depth - 1
    r, end = own - depth + 1, own + n_own + depth - 1
    may_be_cut = march.wall == NO_WALL and march.norms != "none"
    inner, inner_end = own + depth - 1, pick(may_be_cut & lane.ragged, own, min(end, rows.stop))
    u, _ = read_rows(march, 0, rows, between(r - 2, rows.first - 2, rows.stop - 1), real(0.0))
    c, _ = read_rows(march, 0, rows, between(r - 1, rows.first - 2, rows.stop - 1), real(0.0))
    given = read_rows(march, 0, rows, between(r, rows.first - 2, rows.stop - 1), real(0.0))
    state = start(march, first, (u, c), given)
    while r < end:
        while inner <= r and r + ROWS_AT_A_TIME <= inner_end:
            state = advance(march, first, state, state[1][0], Turn(r, rows, lane, lane.leaves))
            state = advance(march, first, state, state[1][0], Turn(r + 1, rows, lane, lane.leaves + row_bytes))
            state = advance(march, first, state, state[1][0], Turn(r + 2, rows, lane, lane.leaves + 2 * row_bytes))
            counted = r - own - level_of_lane(march), n_own
            squares = add_rows_of_level(march, ROWS_AT_A_TIME, squares, shared, counted)
            r += ROWS_AT_A_TIME
        if r < end:
            state = advance_carefully(march, first, state, state[1][0], Turn(r, rows, lane, lane.leaves))
            squares = add_rows_of_level(march, 1, squares, shared, (r - own - level_of_lane(march), n_own))
            r += 1
    return squares
