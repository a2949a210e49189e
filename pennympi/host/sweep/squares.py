"""The groups of a row, added to the words of a norm: ``kernels/sweep/norm.py`` in vector instructions."""

from collections.abc import Callable
from functools import cache

from numba import float64

from ...arrays.dtypes import TABLE
from ...kernels.block import bits, load, real, store
from ...kernels.in_kernel.exact import BIN_BITS, ROUND_0, ROUND_1, ROUND_2, ROUND_3, ROUND_4, ROUND_5
from ...kernels.sweep.norm import (
    Squares,
    add_squares_to_words,
    group_points,
    half_sum,
    raised,
    top_bin,
)
from ...kernels.sweep.norm_of_rows import squares_before
from .groups import GROUPS, group_accessors
from .rows import row_accessors

MOST_POINTS = 1024  # of a call: the values of their groups, and five such rows, lie in the first-level cache
LARGE = 1 << (BIN_BITS - 1)  # units of bin 0: a larger value may belong to a bin before it


def rounds_from(top):
    """The numbers that round to multiples of the units of the three bins from ``top`` on."""
    if top == 0:
        return ROUND_0, ROUND_1, ROUND_2
    if top == 1:
        return ROUND_1, ROUND_2, ROUND_3
    return (ROUND_2, ROUND_3, ROUND_4) if top == 2 else (ROUND_3, ROUND_4, ROUND_5)


@cache
def row_squares(dtype: str) -> Callable[..., None]:
    """``add(words, new, old, first, stop)``: add the groups of new - old of some points of two rows, in the window of
    what the words hold already; once more with another one if a value lies above it.  A group begins at ``first``.
    """
    item_bytes = TABLE[dtype].item_bytes
    n, half = group_points(item_bytes), group_points(item_bytes) // 2
    (read, _, apart), (room, write_groups) = row_accessors(dtype), group_accessors(dtype, MOST_POINTS // n)
    add_up = half_sum(half)

    def change(new, old, z, stop):
        return load(new, z) - load(old, z) if z < stop else real(0)

    def two(new, old, z, stop):
        return change(new, old, z, stop), change(new, old, z + 1, stop)

    def four(new, old, z, stop):
        return (*two(new, old, z, stop), *two(new, old, z + 2, stop))

    changes = {2: two, 4: four}[half]

    def add(words, new, old, first, stop):
        squares = squares_before(words)
        values, n_groups = room(), (stop - first + n - 1) // n
        write_values(values, new, old, first, stop)
        a, b, c, seen = cut(top_bin(squares.scale), values, n_groups)
        if not 0 <= seen < LARGE:  # NaN has all bits, perhaps that of the sign, too
            for k in range(n_groups):
                squares = raised(squares, load(values, k))
            a, b, c, seen = cut(top_bin(squares.scale), values, n_groups)
        add_squares_to_words(words, Squares(squares.scale, a, b, c))

    def write_values(values, new, old, first, stop):
        """The values of all groups."""
        apart()
        n_whole = (stop - first) // n if stop - first >= n * GROUPS else 0
        for k in range(0, n_whole, GROUPS):
            at = min(k, n_whole - GROUPS)  # some of them once more, perhaps
            start = item_bytes * (first + n * at)
            write_groups(values + item_bytes * at, new + start, old + start)
        for k in range(n_whole, (stop - first + n - 1) // n):
            z = first + n * k
            store(values, k, add_up(changes(new, old, z, stop)) + add_up(changes(new, old, z + half, stop)))

    def cut(top, values, n_groups):
        """The accumulators of ``Squares``, and all bits that the values have in units of the window's first bin."""
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

    return add
