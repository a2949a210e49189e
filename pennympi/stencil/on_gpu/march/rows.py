"""What a lane does with its part of a row: the formula, the changes, and the store."""

from typing import Any, NamedTuple

from ....compile.unroll import Static, static
from ....cuda.device.intrinsics import anew
from ....kernels.block import real
from ....kernels.sweep.formula import Stencil, apply
from ....kernels.sweep.records import Box
from ..warp.warp import LANE_BYTES, LANES, lane_number, pick, shift_down, shift_up, store_half, store_some, swap, within

NO_WALL = -1


class March(NamedTuple):
    """What a kernel of passes over one or two dimensions is compiled for.

    norms: "none", "last" or "every"
    wall:  where in its lane the fixed column after the live ones is; NO_WALL: there is a neighbour
    """

    stencil: Stencil
    depth: int
    norms: str
    wall: int

    @property
    def width(self) -> int:
        """Columns of a lane."""
        return columns_of(self.stencil)

    @property
    def edge(self) -> int:
        """Columns at each side of a warp that it does not keep, since they are spoiled."""
        return -(-self.depth // self.width) * self.width

    @property
    def keeps(self) -> int:
        """Columns that a warp keeps."""
        return LANES * self.width - 2 * self.edge


class Edges(NamedTuple):
    """The box of a pass, the live points, and the elements of storage before the first one of a row."""

    box: Box
    live: Box
    lead: int


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


def first_column(width, box, lead):
    """Where a box begins: its first column, or one before it at which a lane may begin."""
    return box.z0 - ((box.z0 + lead) & (width - 1))


def lane_at(march: Static[March], left, edges: Edges, numbers, shared):
    """The lane of a warp that keeps the box's columns from ``left`` on.

    shared: where its warp leaves values of the norm (``level_squares.py``)
    """
    box, live, lead = edges
    width, number = march.width, lane_number()
    column, odd = left - march.edge + number * width, (number & 1) != 0
    first, stop = max(left, box.z0), min(left + march.keeps, box.z1)
    ragged = (((first + lead) | (stop + lead)) & (width - 1)) != 0
    half = left - march.edge + (number & 30) * width + pick(odd, width // 2, 0)
    west, east = column + width == live.z0, column + march.wall == live.z1
    leaves = shared + pick((column + width > first) & (column < stop), number, LANES) * march.stencil.item_bytes
    return Lane(column, live.z0, live.z1, west, east, first, stop, ragged, odd, half, numbers, leaves)


def next_row(march: Static[March], careful: Static[bool], rows, lane, coefficients):
    """The next level of the middle one of three rows.  careful: fixed columns may be anywhere"""
    u, c, d = rows
    wide = (shift_up(c[march.width - 1]), *c, shift_down(c[0]))
    new = tuple(
        real(apply(march.stencil, c[k], ((), (u[k], d[k]), (wide[k], wide[k + 2])), lane.numbers, coefficients[k]))
        for k in static(march.width)
    )
    if careful:
        return tuple(
            pick(within(lane.column + k - lane.first, lane.stop - lane.first), new[k], c[k]) for k in static(march.width)
        )
    return tuple(new_beside_wall(march, k, new[k], c[k], lane) for k in static(march.width))


def new_beside_wall(march: Static[March], k: Static[int], new, old, lane):
    """The new value of column k of a lane, unless the column is a fixed one beside the live ones."""
    if k == march.width - 1:
        new = pick(lane.west, old, new)
    if k == march.wall:
        new = pick(lane.east, old, new)
    return new


def store_row(width: Static[int], x, at, lane):
    """Store row x; two lanes together, so that they write whole sectors of 32 bytes.

    at: address of the half of the even lane's columns that this lane stores
    """
    half = width // 2
    swapped = tuple(swap(pick(lane.odd, x[k], x[k + half])) for k in static(half))
    evens = tuple(pick(lane.odd, swapped[k], x[k]) for k in static(half))
    odds = tuple(pick(lane.odd, x[k + half], swapped[k]) for k in static(half))
    first, stop = lane.kept_first - lane.half, lane.kept_stop - lane.half
    store_half((first <= 0) & (stop >= half), at, evens)
    store_half((first <= width) & (stop >= width + half), at + LANE_BYTES, odds)
    if lane.ragged:
        first, stop = anew(first), anew(stop)
        store_some(first, stop, at, evens)
        store_some(first - width, stop - width, at + LANE_BYTES, odds)
