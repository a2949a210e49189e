"""What a lane does with its part of a row: the formula, the changes, and the store."""

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

from ...kernels.block import real
from ...kernels.sweep.formula import Stencil, applied
from ...kernels.sweep.records import Box
from ..intrinsics import anew
from .columns import each
from .warp import LANE_BYTES, LANES, lane_number, pick, shift_down, shift_up, store_half, store_some, swap, within

NO_WALL = -1


class Lane(NamedTuple):
    """What a lane knows of its columns.

    column:      its first one
    first, stop: the live columns
    west, east:  the fixed column before the live ones is its last, and the one after them its column number ``wall``
    kept_first, kept_stop: the columns that the warp keeps: that it stores, and whose changes it counts
    ragged:      these are not the columns of whole lanes
    odd:         it is the second of a pair of lanes, which store the first one's columns together, then the second one's
    half:        the first of the first lane's columns that it stores
    numbers:     of the formula
    leaves:      where in shared memory it leaves values of the norm
    """

    column: int
    first: int
    stop: int
    west: bool
    east: bool
    kept_first: int
    kept_stop: int
    ragged: bool
    odd: bool
    half: int
    numbers: Any
    leaves: int


def wall_of(stencil: Stencil, end: int) -> int:
    """Where in its lane the fixed column after the live ones is.  end: elements of storage before it; -1: none"""
    return end % columns_of(stencil) if end >= 0 else NO_WALL


def columns_of(stencil: Stencil) -> int:
    """Columns of a lane."""
    return LANE_BYTES // stencil.item_bytes


def edge_columns(stencil: Stencil, depth: int) -> int:
    """Columns at each side of a warp that it does not keep, since they are spoiled."""
    width = columns_of(stencil)
    return -(-depth // width) * width


def kept_columns(stencil: Stencil, depth: int) -> int:
    """Columns that a warp keeps."""
    return LANES * columns_of(stencil) - 2 * edge_columns(stencil, depth)


def origin_of(stencil: Stencil, box: Box, lead: int) -> int:
    """Where a box begins: its first column, or one before it at which a lane may begin."""
    return box.z0 - (box.z0 + lead) % columns_of(stencil)


@cache
def lane_of(stencil: Stencil, depth: int, wall: int) -> Callable[..., Any]:
    """``at(left, box, live, lead, numbers, shared)``: the lane of a warp that keeps the box's columns from ``left`` on.

    shared: where its warp leaves values (``LevelSquares``)
    """
    width, edge, keeps = columns_of(stencil), edge_columns(stencil, depth), kept_columns(stencil, depth)
    item_bytes = stencil.item_bytes

    def at(left, box, live, lead, numbers, shared):
        number = lane_number()
        column, odd = left - edge + number * width, (number & 1) != 0
        first, stop = max(left, box.z0), min(left + keeps, box.z1)
        ragged = (((first + lead) | (stop + lead)) & (width - 1)) != 0
        half = left - edge + (number & 30) * width + pick(odd, width // 2, 0)
        west, east = column + width == live.z0, column + wall == live.z1
        leaves = shared + pick((column + width > first) & (column < stop), number, LANES) * item_bytes
        return Lane(column, live.z0, live.z1, west, east, first, stop, ragged, odd, half, numbers, leaves)

    return at


@cache
def sweep(stencil: Stencil, careful: bool, wall: int) -> Callable[..., Any]:
    """``row(u, c, d, lane, coefficients)``: the next level of row c between the rows u and d.

    careful: fixed columns may be anywhere
    wall:    else the place in its lane of the one after the live columns; NO_WALL: there is a neighbour
    """
    apply, width = applied(stencil), columns_of(stencil)

    def new(k: int) -> Callable[..., Any]:
        def column(u, c, wide, d, lane, coefficients):
            return real(apply(c[k], (), (u[k], d[k]), (wide[k], wide[k + 2]), (lane.numbers, coefficients[k])))

        def live(u, c, wide, d, lane, coefficients):
            value = column(u, c, wide, d, lane, coefficients)
            return pick(within(lane.column + k - lane.first, lane.stop - lane.first), value, c[k])

        def west(u, c, wide, d, lane, coefficients):
            return pick(lane.west, c[k], column(u, c, wide, d, lane, coefficients))

        before_wall = west if k == width - 1 else column

        def east(u, c, wide, d, lane, coefficients):
            return pick(lane.east, c[k], before_wall(u, c, wide, d, lane, coefficients))

        return live if careful else east if k == wall else before_wall

    columns = each(new, width)

    def row(u, c, d, lane, coefficients):
        wide = (shift_up(c[width - 1]),) + c + (shift_down(c[0]),)
        return columns(u, c, wide, d, lane, coefficients)

    return row


@cache
def store(stencil: Stencil) -> Callable[..., None]:
    """``row(x, at, lane)``: store row x; two lanes together, so that they write whole sectors of 32 bytes.

    at: address of the half of the even lane's columns that this lane stores
    """
    width, half = columns_of(stencil), columns_of(stencil) // 2

    def other(k: int) -> Callable[..., Any]:
        def column(x, odd):
            return swap(pick(odd, x[k], x[k + half]))

        return column

    def even(k: int) -> Callable[..., Any]:
        def column(x, others, odd):
            return pick(odd, others[k], x[k])

        return column

    def odd(k: int) -> Callable[..., Any]:
        def column(x, others, odd):
            return pick(odd, x[k + half], others[k])

        return column

    of_other, of_even, of_odd = each(other, half), each(even, half), each(odd, half)

    def row(x, at, lane):
        others = of_other(x, lane.odd)
        evens, odds = of_even(x, others, lane.odd), of_odd(x, others, lane.odd)
        first, stop = lane.kept_first - lane.half, lane.kept_stop - lane.half
        store_half((first <= 0) & (stop >= half), at, evens)
        store_half((first <= width) & (stop >= width + half), at + LANE_BYTES, odds)
        if lane.ragged:
            first, stop = anew(first), anew(stop)
            store_some(first, stop, at, evens)
            store_some(first - width, stop - width, at + LANE_BYTES, odds)

    return row
