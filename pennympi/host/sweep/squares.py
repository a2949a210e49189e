"""The groups of a row, added to the words of a norm: ``kernels/sweep/norm.py`` in vector instructions."""

from collections.abc import Callable
from functools import cache

from numba import float64

from ...arrays.dtypes import TABLE
from ...kernels.block import bits
from ...kernels.in_kernel.exact import BIN_BITS, ROUND_0, ROUND_1, ROUND_2, ROUND_3, ROUND_4, ROUND_5
from ...kernels.sweep.norm import (
    Squares,
    add_squares_to_words,
    copy_of_words,
    group_points,
    half_sum,
    raised,
    scale_of_words,
    top_bin,
)
from .rows import row_accessors

SMALL = 1 << 20  # units of bin 0: a smaller value has fewer than 2**51 units of bin 1
LARGE = 1 << (BIN_BITS - 1)  # units of bin 0: a larger value may belong to a bin before it


def rounds_from(top):
    """The numbers that round to multiples of the units of the three bins from ``top`` on."""
    if top == 0:
        return ROUND_0, ROUND_1, ROUND_2
    if top == 1:
        return ROUND_1, ROUND_2, ROUND_3
    return (ROUND_2, ROUND_3, ROUND_4) if top == 2 else (ROUND_3, ROUND_4, ROUND_5)


def is_below(seen, most):
    """Whether values with the bits ``seen`` are all numbers below ``most`` units."""
    return 0 <= seen < most


@cache
def row_squares(dtype: str) -> Callable[..., None]:
    """``add(words, new, old, first, stop)``: add the groups of new - old of some points of two rows, in the window of
    what the words hold already; once more with another one if a value lies above it.  A group begins at ``first``.
    """
    read, _, apart = row_accessors(dtype)
    n = group_points(TABLE[dtype].item_bytes)
    half = n // 2
    add_up = half_sum(half)

    def change(new, old, z):
        return read(new, z) - read(old, z)

    def two(new, old, z):
        return change(new, old, z), change(new, old, z + 1)

    def four(new, old, z):
        return change(new, old, z), change(new, old, z + 1), change(new, old, z + 2), change(new, old, z + 3)

    changes = {2: two, 4: four}[half]

    def value_at(new, old, z):
        return add_up(changes(new, old, z)) + add_up(changes(new, old, z + half))

    def cut_one(rounds, value):
        """Its bins, and all bits of value in units of the first bin"""
        in_a = value + rounds[0]
        rest = value - (in_a - rounds[0])
        in_b = rest + rounds[1]
        return bits(in_a), bits(in_b), bits(rest - (in_b - (rounds[1] + rounds[2]))), bits(in_a) ^ bits(rounds[0])

    def add(words, new, old, first, stop):
        squares = Squares(scale_of_words(copy_of_words(words)), 0, 0, 0)
        a, b, c, seen = cut_quickly(top_bin(squares.scale), new, old, first, stop)
        if not is_below(seen, SMALL):
            a, b, c, seen = cut(top_bin(squares.scale), new, old, first, stop)
        if not is_below(seen, LARGE):
            for z in range(first, stop, n):
                squares = raised(squares, value_at(new, old, z))
            a, b, c, seen = cut(top_bin(squares.scale), new, old, first, stop)
        add_squares_to_words(words, Squares(squares.scale, a, b, c))

    def cut_quickly(top, new, old, first, stop):
        """``cut`` for values below SMALL: each is rounded to the unit of bin 1 at once."""
        apart()
        round_a, round_b, round_c = rounds_from(top)
        round_b_c = round_b + round_c
        a, b, c, seen = 0, 0, 0, 0
        for k in range((stop - first) // n):
            value = float64(value_at(new, old, first + n * k))
            in_a, in_b = value + round_a, value + round_b
            a += bits(in_a)
            b += bits(in_b)
            c += bits(value - (in_b - round_b_c))
            seen |= bits(in_a) ^ bits(round_a)
        return a, b - (a << BIN_BITS), c, seen

    def cut(top, new, old, first, stop):
        """The accumulators of ``Squares``, and all bits that the values have in units of the window's first bin."""
        apart()
        round_a, round_b, round_c = rounds_from(top)
        round_b_c = round_b + round_c
        a, b, c, seen = 0, 0, 0, 0
        for k in range((stop - first) // n):
            value = float64(value_at(new, old, first + n * k))
            in_a = value + round_a
            rest = value - (in_a - round_a)
            in_b = rest + round_b
            a += bits(in_a)
            b += bits(in_b)
            c += bits(rest - (in_b - round_b_c))
            seen |= bits(in_a) ^ bits(round_a)
        return a, b, c, seen

    return add
