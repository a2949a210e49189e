"""The norms of the levels of a pass, when a warp computes a row of each level in turn.

After a row a lane stores the value of its group in shared memory.  Each lane adds up the values of one level only, so its
registers hold the bins of one level.  In shared memory a level has a value for each lane, and one more value for lanes
whose columns do not count.  A row of zeros follows the levels.
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
    """A level of a pass, in the computation of one row.

    later:   number of levels after this level
    careful: True if the row may be fixed or not needed yet, or if some of its columns may be fixed or not count
    """

    later: int
    careful: bool


class Norms(NamedTuple):
    """The norms of a pass, and the layout of the lanes' values in shared memory.

    levels:       number of levels with a norm, which are the last levels;  before: number of levels before them
    stride:       number of lanes from a lane of a level to its next lane, and number of values a row that a lane adds up
    level_bytes:  bytes from a level to the next level
    row_bytes:    bytes from the values of a row of each level to the values of the next row
    shared_bytes: bytes of a warp
    """

    levels: int
    before: int
    stride: int
    level_bytes: int
    row_bytes: int
    shared_bytes: int


def norms_of(march: March) -> Static[Norms]:
    """The norms of a pass."""
    levels = {"none": 0, "last": 1, "every": march.depth}[march.norms]
    if levels == 0:
        return Norms(0, march.depth, 0, 0, 0, 0)
    stride, level_bytes = 1 << (levels - 1).bit_length(), (LANES + 1) * march.stencil.item_bytes
    rows_at_a_time = ROWS_AT_A_TIME if march.stencil.n_dims == 2 else 1
    row_bytes = (stride + 1) * level_bytes
    return Norms(levels, march.depth - levels, stride, level_bytes, row_bytes, rows_at_a_time * row_bytes)


def squares_before_rows(march: Static[March]):
    """The squares before the first row; () if no level has a norm."""
    return no_squares() if march.norms != "none" else ()


def clear_values(march: Static[March]):
    """Set the warp's values in shared memory to 0.  Returns their address."""
    if march.norms == "none":
        return 0
    norms = norms_of(march)
    address = shared_start() + warp_number() * norms.shared_bytes
    for k in range(norms.shared_bytes // norms.level_bytes):
        store_number(address + k * norms.level_bytes + lane_number() * march.stencil.item_bytes, real(0.0))
    return address


def level_of_lane(march: Static[March]):
    """The level whose values this lane adds up."""
    if march.norms == "none":
        return 0
    norms = norms_of(march)
    return norms.before + (lane_number() & (norms.stride - 1))


def store_value(march: Static[March], level: Static[Level], rows, lane, address):
    """Store the value of this lane's group of a level.

    rows: (new, old), the row of the level and of the level before;  address: address of the lane's values
    """
    norms = norms_of(march)
    if level.later < norms.levels:
        half = march.width // 2
        changes = tuple(changed(march, level.careful, k, rows, lane) for k in static(2 * half))
        lower = tuple(changes[k] for k in static(half))
        upper = tuple(changes[half + k] for k in static(half))
        offset = (norms.levels - 1 - level.later) * norms.level_bytes
        store_number(address + offset, half_sum(half, lower) + half_sum(half, upper))


def changed(march: Static[March], careful: Static[bool], k: Static[int], rows, lane):
    """The change of column k of a lane, 0 if it does not count.  careful: True if columns may not count"""
    new, old = rows
    if careful:
        is_kept = within(lane.column + k - lane.kept_first, lane.kept_stop - lane.kept_first)
        return pick(is_kept, new[k] - old[k], real(0.0))
    if 0 < march.wall <= k:
        return pick(lane.has_wall_after, real(0.0), new[k] - old[k])
    return new[k] - old[k]


def add_rows_of_level(march: Static[March], n_rows: Static[int], squares, shared, counted):
    """The squares after the values of the lane's level in n_rows rows have been added.

    counted: (index of the first row, n); the rows with the indices 0 to n - 1 count
    """
    if march.norms == "none":
        return squares
    norms, (first, n), item_bytes = norms_of(march), counted, march.stencil.item_bytes
    lane = lane_number()
    level = lane & (norms.stride - 1)
    own = level * norms.level_bytes + (lane - level) * item_bytes
    zeros = norms.stride * norms.level_bytes
    sync_warp()
    values = tuple(
        load_number(shared + k * norms.row_bytes + pick(within(first + k, n), own, zeros) + i * item_bytes, real(0.0))
        for k in static(n_rows)
        for i in static(norms.stride)
    )
    squares = add_values(n_rows * norms.stride, squares, values, in_all)
    sync_warp()
    return squares


def finish_squares(march: Static[March], words, squares):
    """Add the squares to the words of the levels with a norm.  words: address of the words of the first of them"""
    if march.norms != "none":
        norms = norms_of(march)
        add_lanes_to_words(words, squares, norms.levels, norms.stride)


def add_lanes_to_words(words, squares: Squares, levels, stride):
    """Add the squares of the lanes to the words.  The lanes of a level are ``stride`` lanes from each other."""
    lane, scale, distance = lane_number(), squares.scale, stride
    while distance < LANES:
        scale = min(scale, of_lane(scale, lane ^ distance))
        distance *= 2
    _, a, b, c = at_scale(squares, scale)
    distance = stride
    while distance < LANES:
        partner = lane ^ distance
        a, b, c = a + of_lane(a, partner), b + of_lane(b, partner), c + of_lane(c, partner)
        distance *= 2
    if lane < levels:
        add_squares_to_words(words + lane * LEVEL_BYTES, Squares(scale, a, b, c))
