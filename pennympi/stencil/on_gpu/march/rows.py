"""The columns of a lane, the formula for its part of a row, and the store."""

from typing import Any, NamedTuple

from ....compile.unroll import Static, static
from ....cuda.device.intrinsics import anew
from ....kernels.block import real
from ....kernels.sweep.formula import Stencil, apply
from ....kernels.sweep.records import Box
from ..warp.warp import LANE_BYTES, LANES, lane_number, pick, shift_down, shift_up, store_half, store_some, swap, within

NO_WALL = -1


class March(NamedTuple):
    """The static parameters of a kernel of passes over one or two dimensions.

    norms: "none", "last" or "every"
    wall:  index, in its lane, of the fixed column after the live columns; NO_WALL: a neighbour PE follows
    """

    stencil: Stencil
    depth: int
    norms: str
    wall: int

    @property
    def width(self) -> int:
        """Number of columns of a lane."""
        return columns_of(self.stencil)

    @property
    def edge(self) -> int:
        """Number of spoiled columns at each side of a warp, which it does not keep."""
        return -(-self.depth // self.width) * self.width

    @property
    def keeps(self) -> int:
        """Number of columns that a warp keeps."""
        return LANES * self.width - 2 * self.edge


class Edges(NamedTuple):
    """The box of a pass, the live points, and the number of elements of storage before a row's first element."""

    box: Box
    live: Box
    lead: int


class Lane(NamedTuple):
    """The columns of a lane.

    column:          index of the lane's first column
    first, stop:     index of the first live column, and the index after the last live column
    has_wall_before: True if the fixed column before the live columns is the lane's last column
    has_wall_after:  True if the fixed column after the live columns is the lane's column ``wall``
    kept_first, kept_stop: the columns that the warp keeps: it stores them, and their changes count
    ragged:          True if the warp keeps a part of a lane
    odd:             True in the second lane of a pair; each lane stores half of the first lane's columns, then half of
                     the second lane's
    half:            index of the first of the first lane's columns that this lane stores
    numbers:         the numbers of the formula
    values:          address of the lane's values of the norm in shared memory
    """

    column: int
    first: int
    stop: int
    has_wall_before: bool
    has_wall_after: bool
    kept_first: int
    kept_stop: int
    ragged: bool
    odd: bool
    half: int
    numbers: Any
    values: int


def wall_of(stencil: Stencil, end: int) -> int:
    """``March.wall``.  end: as ``SweepProblem.end``"""
    return end % columns_of(stencil) if end >= 0 else NO_WALL


def columns_of(stencil: Stencil) -> int:
    """Number of columns of a lane."""
    return LANE_BYTES // stencil.item_bytes


def first_column(width, box, lead):
    """The last column, up to the box's first column, at which a lane may begin."""
    return box.z0 - ((box.z0 + lead) & (width - 1))


def lane_at(march: Static[March], left, edges: Edges, numbers, shared):
    """The lane of a warp that keeps the box's columns from ``left`` on.

    shared: address of the warp's values of the norm (``level_squares.py``)
    """
    box, live, lead = edges
    width, number = march.width, lane_number()
    column, odd = left - march.edge + number * width, (number & 1) != 0
    first, stop = max(left, box.z0), min(left + march.keeps, box.z1)
    ragged = (((first + lead) | (stop + lead)) & (width - 1)) != 0
    half = left - march.edge + (number & 30) * width + pick(odd, width // 2, 0)
    wall_before, wall_after = column + width == live.z0, column + march.wall == live.z1
    values = shared + pick((column + width > first) & (column < stop), number, LANES) * march.stencil.item_bytes
    return Lane(
        column, live.z0, live.z1, wall_before, wall_after, first, stop, ragged, odd, half, numbers, values
    )  # fmt: skip


def next_row(march: Static[March], careful: Static[bool], rows, lane, coefficients):
    """The next level of the middle row of three rows.  careful: True if any column may be fixed"""
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
    """The new value of column k of a lane, or the old value of a fixed column."""
    if k == march.width - 1:
        new = pick(lane.has_wall_before, old, new)
    if k == march.wall:
        new = pick(lane.has_wall_after, old, new)
    return new


def store_row(width: Static[int], x, to, lane):
    """Store row x.  Two lanes store a lane's columns together, so that they write whole sectors of 32 bytes.

    to: address of the half of the even lane's columns that this lane stores
    """
    half = width // 2
    swapped = tuple(swap(pick(lane.odd, x[k], x[k + half])) for k in static(half))
    evens = tuple(pick(lane.odd, swapped[k], x[k]) for k in static(half))
    odds = tuple(pick(lane.odd, x[k + half], swapped[k]) for k in static(half))
    first, stop = lane.kept_first - lane.half, lane.kept_stop - lane.half
    store_half((first <= 0) & (stop >= half), to, evens)
    store_half((first <= width) & (stop >= width + half), to + LANE_BYTES, odds)
    if lane.ragged:
        first, stop = anew(first), anew(stop)
        store_some(first, stop, to, evens)
        store_some(first - width, stop - width, to + LANE_BYTES, odds)
