"""The sum of the groups of a row, added to the words of a norm: ``kernels/sweep/norm.py`` in vector instructions."""

from numba import float64

from ...arrays.dtypes import TABLE
from ...compile.unroll import Static, static
from ...kernels.block import bits, load, real, store
from ...kernels.in_kernel.exact import BIN_BITS, ROUND_0, ROUND_1, ROUND_2, ROUND_3, ROUND_4, ROUND_5
from ...kernels.sweep.norm import GROUP_BYTES, Squares, add_squares_to_words, group_points, half_sum, raised, top_bin
from ...kernels.sweep.norm_of_rows import squares_before
from .groups import GROUPS, group_accessors
from .rows import row_accessors

LARGE = 1 << (BIN_BITS - 1)  # in units of the window's first bin: a larger value may belong to a bin before it


def rounds_from(top):
    """The constants that round to multiples of the units of the three bins from bin ``top`` on."""
    if top == 0:
        return ROUND_0, ROUND_1, ROUND_2
    if top == 1:
        return ROUND_1, ROUND_2, ROUND_3
    return (ROUND_2, ROUND_3, ROUND_4) if top == 2 else (ROUND_3, ROUND_4, ROUND_5)


def add_row_squares(dtype: Static[str], words, new, old, first, stop):
    """Add the groups of new - old of points first .. stop - 1 of two rows.  A group begins at ``first``.

    The first window is that of the words.  If a value lies above it, the sum is repeated with a higher window.
    """
    room, _ = group_accessors(dtype)
    n = points_of_group(dtype)
    squares = squares_before(words)
    values, n_groups = room(), (stop - first + n - 1) // n
    write_values(dtype, values, new, old, first, stop)
    a, b, c, seen = cut_row(dtype, top_bin(squares.scale), values, n_groups)
    if not 0 <= seen < LARGE:  # also if a value is NaN, whose sign bit may be set
        for k in range(n_groups):
            squares = raised(squares, load(values, k))
        a, b, c, seen = cut_row(dtype, top_bin(squares.scale), values, n_groups)
    add_squares_to_words(words, Squares(squares.scale, a, b, c))


def points_of_group(dtype: str) -> Static[int]:
    """Number of points of a group."""
    return group_points(TABLE[dtype].item_bytes)


def write_values(dtype: Static[str], values, new, old, first, stop):
    """Write the values of all groups."""
    _, _, apart = row_accessors(dtype)
    _, write_groups = group_accessors(dtype)
    n, item_bytes = points_of_group(dtype), GROUP_BYTES // points_of_group(dtype)
    apart()
    n_whole = (stop - first) // n if stop - first >= n * GROUPS else 0
    for k in range(0, n_whole, GROUPS):
        group = min(k, n_whole - GROUPS)  # the last call may repeat some groups
        start = item_bytes * (first + n * group)
        write_groups(values + item_bytes * group, new + start, old + start)
    for k in range(n_whole, (stop - first + n - 1) // n):
        z = first + n * k
        store(values, k, half_value(n // 2, new, old, z, stop) + half_value(n // 2, new, old, z + n // 2, stop))


def half_value(n: Static[int], new, old, z, stop):
    """The sum of the squares of the n changes from z on; a change from ``stop`` on is 0."""
    return half_sum(n, tuple(change(new, old, z + k, stop) for k in static(n)))


def change(new, old, z, stop):
    """The change of point z; 0 from ``stop`` on."""
    return load(new, z) - load(old, z) if z < stop else real(0)


def cut_row(dtype: Static[str], top, values, n_groups):
    """(a, b, c of ``Squares``, the union of the bits of all values in units of the window's first bin)."""
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
