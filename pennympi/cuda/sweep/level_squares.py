"""The norms of the levels of a pass, where a warp computes a row of each of them at a time.

After a row a lane leaves the value of its group in shared memory, and then adds up values of one level only: so its
registers hold the bins of one level, however many there are.  In shared memory a level has the numbers of the lanes, and
one more that those lanes leave whose columns don't count; after the levels there is a row that remains 0.
"""

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

from ...kernels.block import real
from ...kernels.sweep.formula import Stencil
from ...kernels.sweep.norm import LEVEL_BYTES, Squares, add_squares_to_words, adder, at_scale, half_sum, no_squares
from .columns import each
from .cutting import ROWS_AT_A_TIME
from .norm import in_all
from .rows import columns_of
from .shared import load_number, shared_start, store_number
from .warp import LANES, lane_number, of_lane, pick, sync_warp, warp_number, within


class LevelSquares(NamedTuple):
    """What a kernel does for its norms.

    shared_bytes: of a warp
    row_bytes:    in which the lanes leave values of one row of each level
    start() -> squares
    clear() -> the warp's address in shared memory, where now all values are 0
    level() -> of which this lane adds up the values
    leave(later, careful, wall) -> ``leave(new, old, lane, at)`` of the level after which there are ``later`` more; see
                  ``rows.sweep``, but here careful: columns of the lane may not count.  at: where the lane leaves values
    add(rows) -> ``add(squares, at, first, n)``: the squares, with values of the lane's level of ``rows`` rows, which are
                  row number ``first`` and those after it, of n rows that count
    finish(words, squares): to the words of the first level that has a norm, and those that follow
    """

    shared_bytes: int
    row_bytes: int
    start: Callable[..., Any]
    clear: Callable[..., Any]
    level: Callable[..., Any]
    leave: Callable[..., Callable[..., None]]
    add: Callable[[int], Callable[..., Any]]
    finish: Callable[..., None]


def _first(squares, *args):
    return squares


def _zero():
    return 0


def _nothing(*args):
    return ()


NO_NORM = LevelSquares(0, 0, _nothing, _zero, _zero, lambda *args: _nothing, lambda rows: _first, _nothing)


@cache
def level_squares(stencil: Stencil, depth: int, norms: str) -> LevelSquares:
    """Those of a pass of ``depth`` sweeps."""
    if norms == "none":
        return NO_NORM
    levels, item_bytes = depth if norms == "every" else 1, stencil.item_bytes
    apart = 1 << (levels - 1).bit_length()  # lanes from one lane of a level to the next, and values that one takes
    level_bytes = (LANES + 1) * item_bytes
    row_bytes, before = (apart + 1) * level_bytes, depth - levels
    rows_at_a_time = ROWS_AT_A_TIME if stencil.n_dims == 2 else 1
    shared_bytes = rows_at_a_time * row_bytes
    nothing, of_row = apart * level_bytes, each(_value_at(item_bytes), apart)

    def clear():
        at = shared_start() + warp_number() * shared_bytes
        for k in range(rows_at_a_time * (apart + 1)):
            store_number(at + k * level_bytes + lane_number() * item_bytes, real(0.0))
        return at

    def level():
        return before + (lane_number() & (apart - 1))

    def leave(later: int, careful: bool, wall: int) -> Callable[..., None]:
        return _leaving(stencil, (levels - 1 - later) * level_bytes, careful, wall) if later < levels else _nothing

    def values_of(k: int) -> Callable[..., Any]:
        before = values_of(k - 1) if k else _nothing

        def values(at, own, first, n):
            counts = within(first + k, n)
            return before(at, own, first, n) + of_row(at + k * row_bytes + pick(counts, own, nothing), real(0.0))

        return values

    def add(rows: int) -> Callable[..., Any]:
        add_all, values = adder(rows * apart, in_all), values_of(rows - 1)

        def add_rows(squares, at, first, n):
            lane = lane_number()
            level = lane & (apart - 1)
            sync_warp()
            squares = add_all(squares, values(at, level * level_bytes + (lane - level) * item_bytes, first, n))
            sync_warp()
            return squares

        return add_rows

    def finish(words, squares):
        add_lanes_to_words(words, squares, levels, apart)

    return LevelSquares(shared_bytes, row_bytes, no_squares, clear, level, leave, add, finish)


def _value_at(item_bytes: int) -> Callable[[int], Callable[..., Any]]:
    def column(k: int) -> Callable[..., Any]:
        def value(at, like):
            return load_number(at + k * item_bytes, like)

        return value

    return column


def _leaving(stencil: Stencil, offset: int, careful: bool, wall: int) -> Callable[..., None]:
    half = columns_of(stencil) // 2
    value = half_sum(half)

    def change(k: int) -> Callable[..., Any]:
        def column(new, old, lane):
            return new[k] - old[k]

        def kept(new, old, lane):
            within_kept = within(lane.column + k - lane.kept_first, lane.kept_stop - lane.kept_first)
            return pick(within_kept, column(new, old, lane), real(0.0))

        def before_wall(new, old, lane):
            return pick(lane.east, real(0.0), column(new, old, lane))

        return kept if careful else before_wall if 0 < wall <= k else column

    lower, upper = each(change, half), each(lambda k: change(half + k), half)

    def leave(new, old, lane, at):
        store_number(at + offset, value(lower(new, old, lane)) + value(upper(new, old, lane)))

    return leave


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
