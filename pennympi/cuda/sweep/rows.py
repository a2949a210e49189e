"""What a lane does with its part of a row: the formula, and the store.

``inner`` is for warps and rows whose points are all live but for the columns beside the last lane or the first one, and
``careful`` for any.
"""

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

from ...kernels.block import real
from ...kernels.sweep.formula import Stencil, applied
from .columns import each
from .warp import LANE_BYTES, pick, shift_down, shift_up, store_half, store_some, swap, within


class Lane(NamedTuple):
    """What a lane knows of its columns.

    column:       its first one
    first, stop:  the live columns
    west, east:   whether the fixed column before the live ones is its last, and the one after them its first
    numbers:      of the formula
    """

    column: int
    first: int
    stop: int
    west: bool
    east: bool
    numbers: Any


class Store(NamedTuple):
    """Where a pair of lanes stores: the even lane's columns, then the odd lane's.

    odd:           whether this is the odd lane, which stores the second halves
    column:        of this lane's half of the even lane's columns
    first, stop:   the columns that the warp stores
    ragged:        whether some half is stored in part
    """

    odd: bool
    column: int
    first: int
    stop: int
    ragged: bool


def columns_of(stencil: Stencil) -> int:
    """Columns of a lane."""
    return LANE_BYTES // stencil.item_bytes


@cache
def sweep(stencil: Stencil, careful: bool) -> Callable[..., Any]:
    """``row(u, c, d, lane, coefficients)``: the next level of row c between the rows u and d."""
    apply, width = applied(stencil), columns_of(stencil)

    def new(k: int) -> Callable[..., Any]:
        def column(u, c, wide, d, lane, coefficients):
            return real(apply(c[k], (), (u[k], d[k]), (wide[k], wide[k + 2]), (lane.numbers, coefficients[k])))

        def live(u, c, wide, d, lane, coefficients):
            value = column(u, c, wide, d, lane, coefficients)
            return pick(within(lane.column + k - lane.first, lane.stop - lane.first), value, c[k])

        def first(u, c, wide, d, lane, coefficients):
            return pick(lane.east, c[k], column(u, c, wide, d, lane, coefficients))

        def last(u, c, wide, d, lane, coefficients):
            return pick(lane.west, c[k], column(u, c, wide, d, lane, coefficients))

        if careful:
            return live
        return {0: first, width - 1: last}.get(k, column)

    columns = each(new, width)

    def row(u, c, d, lane, coefficients):
        wide = (shift_up(c[width - 1]),) + c + (shift_down(c[0]),)  # noqa: RUF005  (Numba has no unpacking here)
        return columns(u, c, wide, d, lane, coefficients)

    return row


@cache
def store(stencil: Stencil) -> Callable[..., None]:
    """``row(x, at, place)``: store row x; two lanes together, so that they write whole sectors of 32 bytes.

    at: address of this lane's half of the even lane's columns;  place: a Store
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

    def whole(column, place):
        return (column >= place.first) & (column + half <= place.stop)

    def row(x, at, place):
        others = of_other(x, place.odd)
        evens, odds = of_even(x, others, place.odd), of_odd(x, others, place.odd)
        store_half(whole(place.column, place), at, evens)
        store_half(whole(place.column + width, place), at + LANE_BYTES, odds)
        if place.ragged:
            first, stop = place.first - place.column, place.stop - place.column
            store_some(first, stop, at, evens)
            store_some(first - width, stop - width, at + LANE_BYTES, odds)

    return row
