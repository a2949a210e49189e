"""Passes of a grid of two dimensions on a GPU: a warp goes down the rows.

A warp holds, in registers, 32 lanes x LANE_BYTES of three rows of each of T levels.  It loads row r + 1 of the field,
level 0, and computes row r of level 1, row r - 1 of level 2, and so on; it stores level T.  The neighbours of a column
are in registers of this lane, or of the next lane (one shuffle).  Each sweep spoils one more column at either edge of the
warp, so two warps compute the columns at the edges, without shared memory and without a barrier.

After level 1 the warp loads the next row for level 1, which arrives while it computes the other levels.  An iteration of
the loop does three rows, in which the three rows of a level exchange their roles, so that no register is copied.

References: Micikevicius, 3D finite difference computation on GPUs (GPGPU-2, 2009), which streams along one axis with
planes in registers; Matsumura and others, AN5D (CGO 2020), which does many time levels a pass through shared memory.
"""

from typing import Any, NamedTuple

from ....compile.unroll import Static, static
from ....cuda.device.intrinsics import prefetch
from ....kernels.block import block, real
from ....kernels.sweep.formula import read_numbers
from ....kernels.sweep.records import Pass
from ..warp.warp import between, least, load_row, pick, warp_number
from .cutting import ROWS_AT_A_TIME, WARPS, part_of_warp, prefetch_rows
from .level_squares import (
    Level,
    add_rows_of_level,
    clear_values,
    finish_squares,
    level_of_lane,
    norms_of,
    squares_before_rows,
    store_value,
)
from .rows import NO_WALL, Edges, Lane, March, first_column, lane_at, next_row, store_row


class Rows(NamedTuple):
    """The rows of a warp.

    old, coefficient, new: addresses of the lane's part of row 0
    pitch_bytes: bytes from a row to the next row
    own, n_own:  index of the first row that the warp keeps, and number of the rows that it keeps
    first, stop: index of the first live row, and the index after the last live row
    last:        index of the last row that the warp reads
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


def read_rows(march: Static[March], ahead: Static[int], rows: Rows, r, like):
    """Row r + 1, and the coefficients of row r.  ahead: number of rows ahead to prefetch"""
    row = read_row(ahead, rows.old, rows, r + 1, like)
    if not march.stencil.has_coefficient:
        return row, row
    return row, read_row(ahead, rows.coefficient, rows, max(r, rows.first), like)


def read_row(ahead: Static[int], base, rows: Rows, r, like):
    """Row r of the field whose row 0 lies at address ``base``."""
    if ahead > 0:
        prefetch(base + least(r + ahead, rows.last) * rows.pitch_bytes)
    return load_row(base + r * rows.pitch_bytes, like)


def advance(march: Static[March], state, r, rows: Rows, warp):
    """The state after row r - s of level s + 1 has been computed, for each s; all columns and rows count.

    state: ((row r + 1 of level 0, coefficients of row r), for each s (row r - s - 1 of level s, row r - s of level s))
    warp:  (the lane, address of its values of the norm)
    """
    (incoming, memories), (lane, values) = state, warp
    kept: tuple[Any, ...] = ()
    for s in static(march.depth):
        later = march.depth - 1 - s
        (u, c), (d, coefficients) = memories[s], incoming
        more = coefficients
        if march.stencil.has_coefficient and later > 0:
            more = load_row(rows.coefficient + (r - s - 1) * rows.pitch_bytes, c[0])
        new = next_row(march, False, (u, c, d), lane, coefficients)
        store_value(march, Level(later, False), (new, c), lane, values)
        kept = (*kept, (c, d))
        incoming = new, more
        if s == 0:
            following = read_rows(march, prefetch_rows(march.depth), rows, r + 1, c[0])
    store_row(march.width, incoming[0], rows.new + (r - march.depth + 1) * rows.pitch_bytes, lane)
    return following, kept


def advance_carefully(march: Static[March], state, r, rows: Rows, warp):
    """``advance`` for rows that may not be live or not be needed yet, and columns that may not count."""
    (incoming, memories), (lane, values) = state, warp
    kept: tuple[Any, ...] = ()
    for s in static(march.depth):
        later = march.depth - 1 - s
        (u, c), (d, coefficients) = memories[s], incoming
        new, more = c, c
        if r - s >= rows.own - later:
            if march.stencil.has_coefficient and later > 0:
                more = load_row(rows.coefficient + between(r - s - 1, rows.first, rows.stop) * rows.pitch_bytes, c[0])
            if rows.first <= r - s and r - s < rows.stop:
                new = next_row(march, True, (u, c, d), lane, coefficients)
                store_value(march, Level(later, True), (new, c), lane, values)
        kept = (*kept, (c, d))
        incoming = new, more
        if s == 0:
            following = read_rows(
                march, prefetch_rows(march.depth), rows, between(r + 1, rows.first - 2, rows.stop - 1), c[0]
            )
    if r - march.depth + 1 >= rows.own:
        store_row(march.width, incoming[0], rows.new + (r - march.depth + 1) * rows.pitch_bytes, lane)
    return following, kept


def march_down(march: Static[March], ctx, sweeps: Pass):
    """The kernel of a pass."""
    fields, box, live, cut = sweeps.fields, sweeps.box, sweeps.live, sweeps.cut
    lead, pitch_bytes = cut.lead, fields.row * march.stencil.item_bytes
    origin = first_column(march.width, box, lead)
    across = (box.z1 - origin + march.keeps - 1) // march.keeps
    place, own, n_own = part_of_warp(cut, box, across, block() * WARPS + warp_number())
    if n_own == 0:
        return
    shared, squares = clear_values(march), squares_before_rows(march)
    left = origin + place * march.keeps
    lane = lane_at(march, left, Edges(box, live, lead), read_numbers(march.stencil, sweeps.values), shared)
    offset = between(lane.column, -lead, fields.row - lead - march.width) * march.stencil.item_bytes
    old, coefficient = fields.old + offset, fields.coefficient + offset
    new = fields.new + lane.half * march.stencil.item_bytes
    end = own + n_own + march.depth - 1
    rows = Rows(old, coefficient, new, pitch_bytes, own, n_own, live.y0, live.y1, min(end + 1, live.y1))
    squares = march_rows(march, rows, lane, shared, squares)
    finish_squares(march, sweeps.words, squares)


def march_rows(march: Static[March], rows: Rows, lane: Lane, shared, squares):
    """The squares after all rows of a warp.  Level 1 computes row r, and level s row r - s + 1."""
    depth, row_bytes, own, n_own = march.depth, norms_of(march).row_bytes, rows.own, rows.n_own
    r, end = own - depth + 1, own + n_own + depth - 1
    may_be_cut = march.wall == NO_WALL and march.norms != "none"
    inner, inner_end = own + depth - 1, pick(may_be_cut & lane.ragged, own, min(end, rows.stop))
    u, _ = read_rows(march, 0, rows, between(r - 2, rows.first - 2, rows.stop - 1), real(0.0))
    c, _ = read_rows(march, 0, rows, between(r - 1, rows.first - 2, rows.stop - 1), real(0.0))
    incoming = read_rows(march, 0, rows, between(r, rows.first - 2, rows.stop - 1), real(0.0))
    state = incoming, tuple((u, c) for _ in static(depth))
    while r < end:
        while inner <= r and r + ROWS_AT_A_TIME <= inner_end:
            state = advance(march, state, r, rows, (lane, lane.values))
            state = advance(march, state, r + 1, rows, (lane, lane.values + row_bytes))
            state = advance(march, state, r + 2, rows, (lane, lane.values + 2 * row_bytes))
            counted = r - own - level_of_lane(march), n_own
            squares = add_rows_of_level(march, ROWS_AT_A_TIME, squares, shared, counted)
            r += ROWS_AT_A_TIME
        if r < end:
            state = advance_carefully(march, state, r, rows, (lane, lane.values))
            squares = add_rows_of_level(march, 1, squares, shared, (r - own - level_of_lane(march), n_own))
            r += 1
    return squares
