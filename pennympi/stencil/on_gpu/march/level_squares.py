"""The norms of the levels of a pass, where a warp computes a row of each of them at a time.

After a row a lane leaves the value of its group in shared memory, and then adds up values of one level only: so its
registers hold the bins of one level, however many there are.  In shared memory a level has the numbers of the lanes, and
one more that those lanes leave whose columns don't count; after the levels there is a row that remains 0.
"""

from typing import NamedTuple

from ....compile.unroll import Static, static
from ....kernels.block import real
from ....kernels.sweep.norm import LEVEL_BYTES, Squares, add_squares_to_words, add_values, at_scale, half_sum, no_squares
from ..warp.norm import in_all
from ..warp.shared import load_number, shared_start, store_number
from ..warp.warp import LANES, lane_number, of_lane, pick, sync_warp, warp_number, within
from .cutting import ROWS_AT_A_TIME
from .rows import March


class Level(NamedTuple):
    """A level of a pass, as it is computed for one row.

    later:   levels after it
    careful: the row may not be live, or not be needed yet, and columns may be fixed or not count
    """

    later: int
    careful: bool


class Norms(NamedTuple):
    """The norms of a pass, and where the lanes of a warp leave their values.

    levels:       levels that have a norm, the last ones;  before: levels before them
    apart:        lanes from one lane of a level to the next, and values that one adds up
    level_bytes:  of shared memory, from a level to the next
    row_bytes:    from the values of one row of each level to those of the next row
    shared_bytes: of a warp
    """

    levels: int
    before: int
    apart: int
    level_bytes: int
    row_bytes: int
    shared_bytes: int


def norms_of(march: March) -> Static[Norms]:
    """The norms of a pass."""
    levels = {"none": 0, "last": 1, "every": march.depth}[march.norms]
    if levels == 0:
        return Norms(0, march.depth, 0, 0, 0, 0)
    apart, level_bytes = 1 << (levels - 1).bit_length(), (LANES + 1) * march.stencil.item_bytes
    rows_at_a_time = ROWS_AT_A_TIME if march.stencil.n_dims == 2 else 1
    row_bytes = (apart + 1) * level_bytes
    return Norms(levels, march.depth - levels, apart, level_bytes, row_bytes, rows_at_a_time * row_bytes)


def squares_before_rows(march: Static[March]):
    """The squares before the first row; () if no level has a norm."""
    return no_squares() if march.norms != "none" else ()


def clear_values(march: Static[March]):
    """The warp's address in shared memory, where afterwards all values are 0."""
    if march.norms == "none":
        return 0
    norms = norms_of(march)
    at = shared_start() + warp_number() * norms.shared_bytes
    for k in range(norms.shared_bytes // norms.level_bytes):
        store_number(at + k * norms.level_bytes + lane_number() * march.stencil.item_bytes, real(0.0))
    return at


def level_of_lane(march: Static[March]):
    """The level of which this lane adds up the values."""
    if march.norms == "none":
        return 0
    norms = norms_of(march)
    return norms.before + (lane_number() & (norms.apart - 1))


def leave_value(march: Static[March], level: Static[Level], rows, lane, at):
    """Leave the value of this lane's group of a level.

    rows: (new, old), the level's and the one's before;  at: where the lane leaves values
    """
    norms = norms_of(march)
    if level.later < norms.levels:
        half = march.width // 2
        changes = tuple(changed(march, level.careful, k, rows, lane) for k in static(2 * half))
        lower = tuple(changes[k] for k in static(half))
        upper = tuple(changes[half + k] for k in static(half))
        offset = (norms.levels - 1 - level.later) * norms.level_bytes
        store_number(at + offset, half_sum(half, lower) + half_sum(half, upper))


def changed(march: Static[March], careful: Static[bool], k: Static[int], rows, lane):
    """The change of column k of a lane, 0 where it does not count.  careful: columns of the lane may not count"""
    new, old = rows
    if careful:
        is_kept = within(lane.column + k - lane.kept_first, lane.kept_stop - lane.kept_first)
        return pick(is_kept, new[k] - old[k], real(0.0))
    if 0 < march.wall <= k:
        return pick(lane.east, real(0.0), new[k] - old[k])
    return new[k] - old[k]


def add_rows_of_level(march: Static[March], n_rows: Static[int], squares, shared, counted):
    """The squares, with values of the lane's level of some rows.

    counted: (the number of the first of the rows, and how many rows count)
    """
    if march.norms == "none":
        return squares
    norms, (first, n), item_bytes = norms_of(march), counted, march.stencil.item_bytes
    lane = lane_number()
    level = lane & (norms.apart - 1)
    own = level * norms.level_bytes + (lane - level) * item_bytes
    nothing = norms.apart * norms.level_bytes
    sync_warp()
    values = tuple(
        load_number(shared + k * norms.row_bytes + pick(within(first + k, n), own, nothing) + i * item_bytes, real(0.0))
        for k in static(n_rows)
        for i in static(norms.apart)
    )
    squares = add_values(n_rows * norms.apart, squares, values, in_all)
    sync_warp()
    return squares


def finish_squares(march: Static[March], words, squares):
    """Add the squares to the words of the first level that has a norm, and those that follow."""
    if march.norms != "none":
        norms = norms_of(march)
        add_lanes_to_words(words, squares, norms.levels, norms.apart)


def add_lanes_to_words(words, squares: Squares, levels, apart):
    """Add what the lanes hold to the words; those of one level are ``apart`` lanes from each other."""
    lane, scale, distance = lane_number(), squares.scale, apart
    while distance < LANES:
        scale = min(scale, of_lane(scale, lane ^ distance))
        distance *= 2
    _, a, b, c = at_scale(squares, scale)
    distance = apart
    while distance < LANES:
        other = lane ^ distance
        a, b, c = a + of_lane(a, other), b + of_lane(b, other), c + of_lane(c, other)
        distance *= 2
    if lane < levels:
        add_squares_to_words(words + lane * LEVEL_BYTES, Squares(scale, a, b, c))
