"""The squares of the changes of a row, added to the words of a norm: ``kernels/sweep/norm.py`` in vector instructions."""

from collections.abc import Callable
from functools import cache

from numba import float64

from ...kernels.block import bits, load, multiply_add, product
from ...kernels.in_kernel.exact import BIN_BITS, ROUND_0, ROUND_1, ROUND_2, ROUND_3, ROUND_4, ROUND_5
from ...kernels.sweep.norm import Squares, add_squares_to_words, copy_of_words, raised, scale_of_words, top_bin
from .rows import row_accessors

SMALL = 1 << 20  # units of bin 0: a smaller square has fewer than 2**51 units of bin 1
LARGE = 1 << (BIN_BITS - 1)  # units of bin 0: a larger square may belong to a bin before it


def rounds_from(top):
    """The numbers that round to multiples of the units of the three bins from ``top`` on."""
    if top == 0:
        return ROUND_0, ROUND_1, ROUND_2
    if top == 1:
        return ROUND_1, ROUND_2, ROUND_3
    return (ROUND_2, ROUND_3, ROUND_4) if top == 2 else (ROUND_3, ROUND_4, ROUND_5)


def exact_square_plus(x, y):
    """x * x + y in float64, for x that is a float32: the product is exact, so that one instruction does it."""
    return multiply_add(x, x, y)


def rounded_square_plus(x, y):
    """x * x, rounded, + y in float64."""
    return product(x, x) + y


@cache
def row_squares(dtype: str) -> Callable[..., None]:
    """``add(words, new, old, first, stop)``: add the squares of new - old of some points of two rows, in the window of
    what the words hold already; once more with another one if a square lies above it.
    """
    read, _, apart = row_accessors(dtype)
    square_plus = exact_square_plus if dtype == "float32" else rounded_square_plus

    def add(words, new, old, first, stop):
        squares = Squares(scale_of_words(copy_of_words(words)), 0, 0, 0)
        a, b, c, seen = cut_quickly(top_bin(squares.scale), new, old, first, stop)
        if seen >= SMALL:
            a, b, c, seen = cut(top_bin(squares.scale), new, old, first, stop)
        if seen >= LARGE:
            for z in range(first, stop):
                squares = raised(squares, load(new, z) - load(old, z))
            a, b, c, seen = cut(top_bin(squares.scale), new, old, first, stop)
        add_squares_to_words(words, Squares(squares.scale, a, b, c))

    def cut_quickly(top, new, old, first, stop):
        """``cut`` for squares below SMALL: each is rounded to the unit of bin 1 at once."""
        apart()
        round_a, round_b, round_c = rounds_from(top)
        round_b_c = round_b + round_c
        a, b, c, seen = 0, 0, 0, 0
        for z in range(first, stop):
            change = float64(read(new, z) - read(old, z))
            in_a, in_b = square_plus(change, round_a), square_plus(change, round_b)
            a += bits(in_a)
            b += bits(in_b)
            c += bits(square_plus(change, round_b_c - in_b))
            seen |= bits(in_a) ^ bits(round_a)
        return a, b - (a << BIN_BITS), c, seen

    def cut(top, new, old, first, stop):
        """The accumulators of ``Squares``, and all bits that the squares have in units of the window's first bin."""
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
        return a, b, c, seen

    return add
