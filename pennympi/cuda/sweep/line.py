"""Passes of a grid of one dimension on a GPU: a warp goes along the points, 32 lanes x LANE_BYTES at a time.

They stay in registers for all levels.  Each sweep spoils one more point at either edge, so that two steps compute those.
"""

from collections.abc import Callable
from functools import cache
from typing import Any

from ...kernels.block import Elements, Words, block, real
from ...kernels.sweep.formula import Stencil, numbers_of
from ...kernels.sweep.records import Box, Cut, SweepFields
from .cutting import WARPS
from .level_squares import level_squares
from .rows import NO_WALL, columns_of, edge_columns, kept_columns, lane_of, store, sweep
from .warp import LANES, between, load_row, warp_number


def _levels(stencil: Stencil, depth: int, norms: str, careful: bool) -> Callable[..., None]:
    """``advance(c, coefficients, lane, at)``: from points c of the old field to the new one's at an address."""
    leave, row = level_squares(stencil, depth, norms).leave, store(stencil)

    def store_row(x, coefficients, lane, at):
        row(x, at, lane)

    advance = store_row
    for later in range(depth):
        advance = _along(advance, sweep(stencil, careful, NO_WALL), leave(later, careful, NO_WALL))
    return advance


def _along(then: Callable[..., None], new_row: Callable[..., Any], leave: Callable[..., None]) -> Callable[..., None]:
    def advance(c, coefficients, lane, at):
        new = new_row(c, c, c, lane, coefficients)
        leave(new, c, lane, lane.leaves)
        then(new, coefficients, lane, at)

    return advance


@cache
def march(stencil: Stencil, depth: int, norms: str) -> Callable[..., None]:
    """The kernel of passes of ``depth`` sweeps."""
    width, item_bytes, has_coefficient = columns_of(stencil), stencil.item_bytes, stencil.has_coefficient
    edge, keeps = edge_columns(stencil, depth), kept_columns(stencil, depth)
    advance_carefully, advance = (_levels(stencil, depth, norms, careful) for careful in (True, False))
    _, _, start_squares, clear, _, _, add, finish = level_squares(stencil, depth, norms)
    add_row, lane_at, read_numbers = add(1), lane_of(stencil, depth, NO_WALL), numbers_of(stencil)

    def kernel(ctx, fields: SweepFields, box: Box, live: Box, cut: Cut, values: Elements, words: Words, scratch):
        lead = cut.lead
        origin = box.z0 - ((box.z0 + lead) & (width - 1))
        across = (box.z1 - origin + keeps - 1) // keeps
        step = (block() * WARPS + warp_number()) * cut.chunk
        end = min(step + cut.chunk, across)
        if step >= end:
            return
        numbers, zero, squares = read_numbers(values), real(0.0), start_squares()
        while step < end:
            shared, left = clear(), origin + step * keeps
            lane = lane_at(left, box, live, lead, numbers, shared)
            at = between(lane.column, -lead, fields.row - lead - width) * item_bytes
            c = load_row(fields.old + at, zero)
            coefficients = load_row(fields.coefficient + at, zero) if has_coefficient else c
            new = fields.new + lane.half * item_bytes
            if lane.ragged or left - edge < live.z0 or left - edge + LANES * width > live.z1:
                advance_carefully(c, coefficients, lane, new)
            else:
                advance(c, coefficients, lane, new)
            squares = add_row(squares, shared, 0, 1)
            step += 1
        finish(words, squares)

    return kernel
