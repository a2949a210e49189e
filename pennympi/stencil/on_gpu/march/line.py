"""Passes of a grid of one dimension on a GPU: a warp goes along the points, 32 lanes x LANE_BYTES at a time.

The points stay in registers for all levels.  Each sweep spoils one more point at each edge of the warp, so the points
at the edges are computed in two neighbouring steps.
"""

from ....compile.unroll import Static, static
from ....kernels.block import block, real
from ....kernels.sweep.formula import read_numbers
from ....kernels.sweep.records import Pass
from ..warp.warp import LANES, between, load_row, warp_number
from .cutting import WARPS
from .level_squares import Level, add_rows_of_level, clear_values, finish_squares, squares_before_rows, store_value
from .rows import Edges, March, first_column, lane_at, next_row, store_row


def advance_along(march: Static[March], careful: Static[bool], points, lane, to):
    """Compute all levels of a lane's points, and store the last level.

    points: (points of the old field, coefficients);  to: address in the new field
    """
    c, coefficients = points
    for s in static(march.depth):
        new = next_row(march, careful, (c, c, c), lane, coefficients)
        store_value(march, Level(march.depth - 1 - s, careful), (new, c), lane, lane.values)
        c = new
    store_row(march.width, c, to, lane)


def march_along(march: Static[March], ctx, sweeps: Pass):
    """The kernel of a pass."""
    fields, box, live, cut = sweeps.fields, sweeps.box, sweeps.live, sweeps.cut
    lead, width, item_bytes = cut.lead, march.width, march.stencil.item_bytes
    origin = first_column(width, box, lead)
    across = (box.z1 - origin + march.keeps - 1) // march.keeps
    step = (block() * WARPS + warp_number()) * cut.chunk
    end = min(step + cut.chunk, across)
    if step >= end:
        return
    numbers, zero, squares = read_numbers(march.stencil, sweeps.values), real(0.0), squares_before_rows(march)
    while step < end:
        shared, left = clear_values(march), origin + step * march.keeps
        lane = lane_at(march, left, Edges(box, live, lead), numbers, shared)
        offset = between(lane.column, -lead, fields.row - lead - width) * item_bytes
        c = load_row(fields.old + offset, zero)
        coefficients = load_row(fields.coefficient + offset, zero) if march.stencil.has_coefficient else c
        new = fields.new + lane.half * item_bytes
        if lane.ragged or left - march.edge < live.z0 or left - march.edge + LANES * width > live.z1:
            advance_along(march, True, (c, coefficients), lane, new)
        else:
            advance_along(march, False, (c, coefficients), lane, new)
        squares = add_rows_of_level(march, 1, squares, shared, (0, 1))
        step += 1
    finish_squares(march, sweeps.words, squares)
