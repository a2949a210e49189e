"""The groups of a row, added to the words of a norm: ``kernels/sweep/norm.py`` in vector instructions."""

from numba import float64

from ...arrays.dtypes import TABLE
from ...compile.unroll import Static, static
from ...kernels.block import bits, load, real, store
from ...kernels.in_kernel.exact import BIN_BITS, ROUND_0, ROUND_1, ROUND_2, ROUND_3, ROUND_4, ROUND_5
from ...kernels.sweep.norm import GROUP_BYTES, Squares, add_squares_to_words, group_points, half_sum, raised, top_bin
from ...kernels.sweep.norm_of_rows import squares_before
from .groups import GROUPS, group_accessors
from .rows import row_accessors

LARGE = 1 << (BIN_BITS - 1)  # units of bin 0: a larger value may belong to a bin before it


def rounds_from(top):
    """The numbers that round to multiples of the units of the three bins from ``top`` on."""
    if top == 0:
        return ROUND_0, ROUND_1, ROUND_2
    if top == 1:
        return ROUND_1, ROUND_2, ROUND_3
    return (ROUND_2, ROUND_3, ROUND_4) if top == 2 else (ROUND_3, ROUND_4, ROUND_5)


def add_row_squares(dtype: Static[str], words, new, old, first, stop):
    """Add the groups of new - old of some points of two rows, in the window of what the words hold already; once more
    with another one if a value lies above it.  A group begins at ``first``.
    """
    room, _ = group_accessors(dtype)
    n = points_of_group(dtype)
    squares = squares_before(words)
    values, n_groups = room(), (stop - first + n - 1) // n
    write_values(dtype, values, new, old, first, stop)
    a, b, c, seen = cut_row(dtype, top_bin(squares.scale), values, n_groups)
    if not 0 <= seen < LARGE:  # NaN has all bits, perhaps that of the sign, too
        for k in range(n_groups):
            squares = raised(squares, load(values, k))
        a, b, c, seen = cut_row(dtype, top_bin(squares.scale), values, n_groups)
    add_squares_to_words(words, Squares(squares.scale, a, b, c))


def points_of_group(dtype: str) -> Static[int]:
    """Points of a group of a dtype."""
    return group_points(TABLE[dtype].item_bytes)


def write_values(dtype: Static[str], values, new, old, first, stop):
    """The values of all groups."""
    _, _, apart = row_accessors(dtype)
    _, write_groups = group_accessors(dtype)
    n, item_bytes = points_of_group(dtype), GROUP_BYTES // points_of_group(dtype)
    apart()
    n_whole = (stop - first) // n if stop - first >= n * GROUPS else 0
    for k in range(0, n_whole, GROUPS):
        at = min(k, n_whole - GROUPS)  # some of them once more, perhaps
        start = item_bytes * (first + n * at)
        write_groups(values + item_bytes * at, new + start, old + start)
    for k in range(n_whole, (stop - first + n - 1) // n):
        z = first + n * k
        store(values, k, half_value(n // 2, new, old, z, stop) + half_value(n // 2, new, old, z + n // 2, stop))


def half_value(n: Static[int], new, old, z, stop):
    """The sum of the squares of n changes from z on; those from ``stop`` on are 0."""
    return half_sum(n, tuple(change(new, old, z + k, stop) for k in static(n)))


def change(new, old, z, stop):
    """The change of a point."""
    return load(new, z) - load(old, z) if z < stop else real(0)


def cut_row(dtype: Static[str], top, values, n_groups):
    """The accumulators of ``Squares``, and all bits that the values have in units of the window's first bin."""
    read, _, apart = row_accessors(dtype)
    apart()
    round_a, round_b, round_c = rounds_from(top)
    round_b_c = round_b + round_c
    a, b, c, seen = 0, 0, 0, 0
    for k in range(n_groups):
        value = float64(read(values, k))
        in_a = value + round_a
        rest = value - (in_a - round_a)
        in_b = rest + round_b
        a += bits(in_a)
        b += bits(in_b)
        c += bits(rest - (in_b - round_b_c))
        seen |= bits(in_a) ^ bits(round_a)
    return a, b, c, seen
