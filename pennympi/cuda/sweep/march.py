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
from .rows import columns_of, edge_columns, keeps_columns, kept_columns, lane_of, store, sweep
from .warp import LANES, between, least, load_row, prefetch, warp_number


class Rows(NamedTuple):
    """The rows of a warp.

    coefficient, new: addresses of the lane's part of row 0;  pitch_bytes: from a row to the next
    own, n_own:  the first row that the warp keeps, and their number
    first, stop: the live rows
    """

    coefficient: int
    new: int
    pitch_bytes: int
    own: int
    n_own: int
    first: int
    stop: int


def _storing(stencil: Stencil) -> Level:
    """What comes after the last level."""
    store_row = store(stencil)

    def advance(state, x, r, rows, lane):  # x is row r + 1
        store_row(x, rows.new + (r + 1) * rows.pitch_bytes, lane)
        return state

    return after_last(advance)


def _marching(stencil: Stencil, made: Level, later: int, careful: bool) -> Level:
    """The level with ``advance(state, d, r, ...)``, which computes row r; d is row r + 1 of the level before.

    careful: the row may not be live, or not be needed yet
    """
    next_advance, add = made.advance, made.add
    new_row, has_coefficient = sweep(stencil, careful), stencil.has_coefficient

    def computed(u, c, d, r, rows, lane):
        if has_coefficient:
            return new_row(u, c, d, lane, load_row(rows.coefficient + r * rows.pitch_bytes, c[0]))
        return new_row(u, c, d, lane, c)

    def advance(state, d, r, rows, lane):
        (u, c), squares, after = state
        new = computed(u, c, d, r, rows, lane)
        if r < rows.own + rows.n_own:
            squares = add(squares, new, c, lane)
        return (c, d), squares, next_advance(after, new, r - 1, rows, lane)

    def advance_carefully(state, d, r, rows, lane):
        (u, c), squares, after = state
        if r >= rows.own - later:
            new = c
            if rows.first <= r and r < rows.stop:
                new = computed(u, c, d, r, rows, lane)
            if rows.own <= r and r < rows.own + rows.n_own:
                squares = add(squares, new, c, lane)
            after = next_advance(after, new, r - 1, rows, lane)
        return (c, d), squares, after

    return made._replace(advance=advance_carefully if careful else advance)


def _loading(ahead: int) -> Callable[..., Any]:
    """``load(address, pitch_bytes, final, like)``: a row, and prefetch one, but none after that at address ``final``."""

    def load(address, pitch_bytes, final, like):
        prefetch(least(address + ahead * pitch_bytes, final))
        return load_row(address, like)

    def load_only(address, pitch_bytes, final, like):
        return load_row(address, like)

    return load if ahead else load_only


def _levels(stencil: Stencil, depth: int, norms: str, careful: bool) -> Level:
    first = _storing(stencil)
    for later in range(depth):
        first = _marching(stencil, level(stencil, later, depth, norms, first), later, careful)
    return first


@cache
def march(stencil: Stencil, depth: int, norms: str) -> Callable[..., None]:
    """The kernel of passes of ``depth`` sweeps."""
    width, item_bytes = columns_of(stencil), stencil.item_bytes
    edge, keeps = edge_columns(stencil, depth), kept_columns(stencil, depth)
    start, advance_carefully, finish, _ = _levels(stencil, depth, norms, True)
    advance = _levels(stencil, depth, norms, False).advance
    load = _loading(PREFETCH_ROWS.get(depth, MAX_PREFETCH_ROWS))
    lane_at, read_numbers = lane_of(stencil, depth), numbers_of(stencil)

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
        base = left - edge
        lane = lane_at(left, box, live, lead, read_numbers(values))
        at = between(lane.column, -lead, fields.row - lead - width) * item_bytes
        new = fields.new + lane.half * item_bytes
        rows = Rows(fields.coefficient + at, new, pitch_bytes, own, n_own, live.y0, live.y1)
        old = fields.old + at
        # Level 1 computes row r from row r + 1 of level 0, which is d.  Level s computes row r - s + 1.
        r, end = own - depth - 1, own + n_own + depth - 1
        inner, inner_end = own + depth - 1, min(end, live.y1)
        if ((live.z1 + lead) & (width - 1)) != 0 and base < live.z1 and live.z1 < base + LANES * width:
            inner_end = inner  # the fixed column after the live ones is not the first of its lane
        zero, final = real(0.0), old + min(end + 1, live.y1) * pitch_bytes
        d = load_row(old + between(r + 1, live.y0 - 1, live.y1) * pitch_bytes, zero)
        state = start((d, d))
        while r < end:
            if r >= inner and r + ROWS_AT_A_TIME <= inner_end:
                e = load(old + (r + 2) * pitch_bytes, pitch_bytes, final, zero)
                state = advance(state, d, r, rows, lane)
                d = load(old + (r + 3) * pitch_bytes, pitch_bytes, final, zero)
                state = advance(state, e, r + 1, rows, lane)
                e = load(old + (r + 4) * pitch_bytes, pitch_bytes, final, zero)
                state = advance(state, d, r + 2, rows, lane)
                d = e
                r += ROWS_AT_A_TIME
            else:
                e = load(old + between(r + 2, live.y0 - 1, live.y1) * pitch_bytes, pitch_bytes, final, zero)
                state = advance_carefully(state, d, r, rows, lane)
                d = e
                r += 1
        finish(state, words, keeps_columns(lane, width))

    return kernel
