"""The squares of the changes of a row, added to the words of a norm: ``kernels/sweep/norm.py`` in vector instructions."""

from collections.abc import Callable
from functools import cache

from numba import float64

from ...kernels.block import bits, load
from ...kernels.in_kernel.exact import BIN_BITS, ROUND_0, ROUND_1, ROUND_2, ROUND_3, ROUND_4, ROUND_5
from ...kernels.sweep.norm import Squares, add_squares_to_words, copy_of_words, raised, scale_of_words, top_bin
from .rows import row_accessors, square_plus_of


def rounds_from(top):
    """The numbers that round to multiples of the units of the three bins from ``top`` on."""
    if top == 0:
        return ROUND_0, ROUND_1, ROUND_2
    if top == 1:
        return ROUND_1, ROUND_2, ROUND_3
    return (ROUND_2, ROUND_3, ROUND_4) if top == 2 else (ROUND_3, ROUND_4, ROUND_5)


@cache
def row_squares(dtype: str) -> Callable[..., None]:
    """``add(words, new, old, first, stop)``: add the squares of new - old of some points of two rows of a dtype.

    All points are cut in the window of what the words hold already, then once more if one lies above it.
    """
    read, _, apart = row_accessors(dtype)
    square_plus = square_plus_of(dtype)

    def add(words, new, old, first, stop):
        squares = Squares(scale_of_words(copy_of_words(words)), 0, 0, 0)
        a, b, c, above = cut_row(top_bin(squares.scale), new, old, first, stop)
        if above:
            for z in range(first, stop):
                squares = raised(squares, load(new, z) - load(old, z))
            a, b, c, above = cut_row(top_bin(squares.scale), new, old, first, stop)
        add_squares_to_words(words, Squares(squares.scale, a, b, c))

    def cut_row(top, new, old, first, stop):
        """The three accumulators of ``Squares``, and whether one square may lie above the window."""
        apart()
        round_a, round_b, round_c = rounds_from(top)
        round_b_c = round_b + round_c
        a, b, c, seen = 0, 0, 0, 0
        for z in range(first, stop):
            change = float64(read(new, z) - read(old, z))
            in_a = square_plus(change, round_a)
            rest = square_plus(change, round_a - in_a)
            in_b = rest + round_b
            a += bits(in_a)
            b += bits(in_b)
            c += bits(rest - (in_b - round_b_c))
            seen |= bits(in_a) ^ bits(round_a)
        return a, b, c, seen >> (BIN_BITS - 1) != 0

    return add
