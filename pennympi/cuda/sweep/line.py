"""Passes of a grid of one dimension on a GPU: a warp goes along the points, 32 lanes x LANE_BYTES at a time.

They stay in registers for all levels.  Each sweep spoils one more point at either edge, so that two steps compute those.
"""

from collections.abc import Callable
from functools import cache

from ...kernels.block import Elements, Words, block, real
from ...kernels.sweep.formula import Stencil, numbers_of
from ...kernels.sweep.records import Box, Cut, SweepFields
from .cutting import WARPS
from .levels import Level, after_last, level
from .rows import NO_WALL, columns_of, edge_columns, kept_columns, lane_of, store, sweep
from .warp import LANES, between, load_row, warp_number


def _storing(stencil: Stencil) -> Level:
    """What comes after the last level."""
    store_row = store(stencil)

    def advance(state, x, coefficients, lane, at):
        store_row(x, at, lane)
        return state

    return after_last(advance)


def _along(stencil: Stencil, made: Level, careful: bool) -> Level:
    """The level with ``advance(state, c, ...)``: from the points of the level before."""
    next_advance, add, new_row = made.advance, made.add, sweep(stencil, careful, NO_WALL)

    def advance(state, c, coefficients, lane, at):
        rows, squares, after = state
        new = new_row(c, c, c, lane, coefficients)
        return rows, add(squares, new, c, lane), next_advance(after, new, coefficients, lane, at)

    return made._replace(advance=advance)


def _levels(stencil: Stencil, depth: int, norms: str, careful: bool) -> Level:
    first = _storing(stencil)
    for later in range(depth):
        first = _along(stencil, level(stencil, later, depth, norms, first), careful)
    return first


@cache
def march(stencil: Stencil, depth: int, norms: str) -> Callable[..., None]:
    """The kernel of passes of ``depth`` sweeps."""
    width, item_bytes, has_coefficient = columns_of(stencil), stencil.item_bytes, stencil.has_coefficient
    edge, keeps = edge_columns(stencil, depth), kept_columns(stencil, depth)
    start, advance_carefully, finish, _ = _levels(stencil, depth, norms, True)
    advance = _levels(stencil, depth, norms, False).advance
    lane_at, read_numbers = lane_of(stencil, depth, NO_WALL), numbers_of(stencil)

    def kernel(ctx, fields: SweepFields, box: Box, live: Box, cut: Cut, values: Elements, words: Words, scratch):
        lead = cut.lead
        origin = box.z0 - ((box.z0 + lead) & (width - 1))
        across = (box.z1 - origin + keeps - 1) // keeps
        step = (block() * WARPS + warp_number()) * cut.chunk
        end = min(step + cut.chunk, across)
        if step >= end:
            return
        numbers, zero, state = read_numbers(values), real(0.0), start((), ())
        while step < end:
            left = origin + step * keeps
            lane = lane_at(left, box, live, lead, numbers)
            at = between(lane.column, -lead, fields.row - lead - width) * item_bytes
            c = load_row(fields.old + at, zero)
            coefficients = load_row(fields.coefficient + at, zero) if has_coefficient else c
            new = fields.new + lane.half * item_bytes
            if left - edge < live.z0 or left - edge + LANES * width > live.z1:
                state = advance_carefully(state, c, coefficients, lane, new)
            else:
                state = advance(state, c, coefficients, lane, new)
            step += 1
        finish(state, words)

    return kernel
