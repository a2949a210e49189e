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
from .rows import Lane, Store, columns_of, store, sweep
from .warp import LANES, lane_number, load_row, pick, warp_number

WARPS = 4  # of a block
ROWS_AT_A_TIME = 3


class Rows(NamedTuple):
    """Where a lane's part of the rows lies, and which rows it stores and computes.

    coefficient: address of row 0;  pitch_bytes: from a row to the next
    own, rows:   the first row that the warp stores, and their number
    first, stop: the live rows
    """

    coefficient: int
    new: int
    pitch_bytes: int
    own: int
    rows: int
    first: int
    stop: int


def edge_columns(stencil: Stencil, depth: int) -> int:
    """Columns at each side of a warp that it does not store."""
    width = columns_of(stencil)
    return -(-depth // width) * width


def kept_columns(stencil: Stencil, depth: int) -> int:
    """Columns that a warp stores."""
    return LANES * columns_of(stencil) - 2 * edge_columns(stencil, depth)


def _storing(stencil: Stencil) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """(start, advance) of what comes after the last level."""
    store_row = store(stencil)

    def start(zeros):
        return ()

    def advance(state, x, r, rows, lane, place):
        store_row(x, rows.new + r * rows.pitch_bytes, place)
        return state

    return start, advance


def _level(stencil: Stencil, later: int, then: tuple[Any, Any], careful: bool) -> tuple[Any, Any]:
    """(start, advance) of a level after which there are ``later`` more.

    start(zeros) -> state
    advance(state, d, r, ...) -> state: where row r + 1 of the level before is d, compute row r of this level
    careful: the row may be not live, or not be needed yet
    """
    next_start, next_advance = then
    new_row, has_coefficient = sweep(stencil, careful), stencil.has_coefficient

    def start(zeros):
        return zeros, zeros, next_start(zeros)

    def computed(u, c, d, r, rows, lane):
        if has_coefficient:
            return new_row(u, c, d, lane, load_row(rows.coefficient + r * rows.pitch_bytes, c[0]))
        return new_row(u, c, d, lane, c)

    def advance(state, d, r, rows, lane, place):
        u, c, after = state
        new = computed(u, c, d, r, rows, lane)
        return c, d, next_advance(after, new, r - 1, rows, lane, place)

    def advance_carefully(state, d, r, rows, lane, place):
        u, c, after = state
        if r >= rows.own - later:
            new = c
            if (r >= rows.first) & (r < rows.stop):
                new = computed(u, c, d, r, rows, lane)
            after = next_advance(after, new, r - 1, rows, lane, place)
        return c, d, after

    return start, advance_carefully if careful else advance


def _levels(stencil: Stencil, depth: int, careful: bool) -> tuple[Any, Any]:
    levels = _storing(stencil)
    for later in range(depth):
        levels = _level(stencil, later, levels, careful)
    return levels


@cache
def march(stencil: Stencil, depth: int, norms: str) -> Callable[..., None]:
    """The kernel of passes of ``depth`` sweeps."""
    width, item_bytes = columns_of(stencil), stencil.item_bytes
    edge, kept = edge_columns(stencil, depth), kept_columns(stencil, depth)
    half = width // 2
    start, advance_carefully = _levels(stencil, depth, True)
    advance = _levels(stencil, depth, False)[1]
    read_numbers = numbers_of(stencil)

    def kernel(ctx, fields: SweepFields, box: Box, live: Box, cut: Cut, values: Elements, words: Words, scratch: int):
        lead, pitch_bytes = cut.lead, fields.row * item_bytes
        # Columns: of the warp from base, of which it stores first .. stop - 1.
        origin = box.z0 - ((box.z0 + lead) & (width - 1))
        strips = (box.z1 - origin + kept - 1) // kept
        warp = block() * WARPS + warp_number()
        own = box.y0 + warp // strips * cut.chunk
        n_rows = min(cut.chunk, box.y1 - own)
        if n_rows <= 0:
            return
        left = origin + warp % strips * kept
        base, first, stop = left - edge, max(left, box.z0), min(left + kept, box.z1)
        number = lane_number()
        column = base + number * width
        lane = Lane(column, live.z0, live.z1, column + width == live.z0, column == live.z1, read_numbers(values))
        odd = (number & 1) != 0
        stored = base + (number & 30) * width + pick(odd, half, 0)
        ragged = (((first + lead) | (stop + lead)) & (half - 1)) != 0
        place = Store(odd, stored, first, stop, ragged)
        at = min(max(column, -lead), fields.row - lead - width) * item_bytes
        rows = Rows(
            fields.coefficient + at, fields.new + stored * item_bytes, pitch_bytes, own, n_rows, live.y0, live.y1
        )
        old = fields.old + at
        # Rows, by the number r of the one that level 1 computes.
        r = own - depth - 1
        end = own + n_rows + depth - 1
        inner, inner_end = own + depth - 1, min(end, live.y1)
        if ((live.z1 + lead) & (width - 1)) != 0 and base < live.z1 and live.z1 < base + LANES * width:
            inner_end = inner
        zero = real(0.0)
        state = start(load_row(old + own * pitch_bytes, zero))
        d = load_row(old + min(max(r + 1, live.y0 - 1), live.y1) * pitch_bytes, zero)
        while r < end:
            if r >= inner and r + ROWS_AT_A_TIME <= inner_end:
                e = load_row(old + (r + 2) * pitch_bytes, zero)
                state = advance(state, d, r, rows, lane, place)
                d = load_row(old + (r + 3) * pitch_bytes, zero)
                state = advance(state, e, r + 1, rows, lane, place)
                e = load_row(old + (r + 4) * pitch_bytes, zero)
                state = advance(state, d, r + 2, rows, lane, place)
                d = e
                r += ROWS_AT_A_TIME
            else:
                e = load_row(old + min(max(r + 2, live.y0 - 1), live.y1) * pitch_bytes, zero)
                state = advance_carefully(state, d, r, rows, lane, place)
                d = e
                r += 1

    return kernel
