"""Exact sums of float64: their bits do not depend on the order of threads, blocks and PEs.

A value is split into BINS parts.  Part k is a multiple of unit k, 2**(TOP_BIT - BIN_BITS * k), and at most half of unit
k - 1.  A thread adds the parts of each bin as float64, which is exact: up to MAX_VALUES values the sum of a bin is below
2**53 units.  A block adds its sums to int64 words, which can't overflow up to MAX_TOTAL values.  The remainder of a value
below the last unit, 2**-142, is dropped.  A value that is NaN, or at least LIMIT in size, makes the sum NaN.

Source: the indexed sums of Demmel and Nguyen, "Parallel Reproducible Summation" (2015), with bins at fixed places.
"""

from typing import NamedTuple

from ..block import add_block_sums, read_epoch
from ..slots import WORD_BYTES

BINS = 6
BIN_BITS = 30
TOP_BIT = 8
WORDS = 8  # words of a sum: a word for each bin, the number of blocks whose sum was NaN, and a spare word
WORDS_BYTES = WORD_BYTES * WORDS
BAD_WORD = BINS  # index of the word that counts blocks whose sum was NaN
# The most values of a block before ``add_to_words``; a thread may add a quarter of them.
MAX_VALUES = 1 << (54 - BIN_BITS)
MAX_TOTAL = 1 << (64 - BIN_BITS)  # the most values of a sum

LIMIT = 2.0 ** (TOP_BIT + BIN_BITS - 1)
NAN = float("nan")
UNIT_0, UNIT_1, UNIT_2, UNIT_3, UNIT_4, UNIT_5 = (2.0 ** (TOP_BIT - BIN_BITS * k) for k in range(BINS))
# The last bit of x + ROUND_k is UNIT_k, so the addition rounds x to a multiple of UNIT_k.
ROUND_0, ROUND_1, ROUND_2, ROUND_3, ROUND_4, ROUND_5 = (1.5 * 2.0 ** (52 + TOP_BIT - BIN_BITS * k) for k in range(BINS))
HALF = 1 << (BIN_BITS - 1)


class Bins(NamedTuple):
    """The sums of a thread by bins.  Each bin but the last starts at its ROUND."""

    a: float
    b: float
    c: float
    d: float
    e: float
    f: float


def no_bins():
    """The bins of no values."""
    return Bins(ROUND_0, ROUND_1, ROUND_2, ROUND_3, ROUND_4, 0.0)


def add_to_bins(bins: Bins, x: float):
    """Return the bins after adding the float64 ``x``.

    A bin stays between 2**52 and 2**53 units, so adding x to it rounds x to a multiple of its unit.  If x lies in the
    middle between two multiples, the direction of rounding depends on the bin; the next bins then hold the opposite
    remainder, so the total does not depend on it.  The last bin drops the remainder of a rounding that does not depend on
    the bins.  The first line keeps the compiler from fusing a product x with the first addition, which would not round
    the product.
    """
    x = x if abs(x) < LIMIT else NAN
    a = bins.a + x
    x -= a - bins.a  # all steps from here on are exact
    b = bins.b + x
    x -= b - bins.b
    c = bins.c + x
    x -= c - bins.c
    d = bins.d + x
    x -= d - bins.d
    e = bins.e + x
    x -= e - bins.e
    return Bins(a, b, c, d, e, bins.f + ((x + ROUND_5) - ROUND_5))


def add_to_words(words: int, bins: Bins):
    """Add the bins of a block's threads to the WORDS words at address ``words``.  All threads must call it.

    Call it in one function of a kernel only: Numba allocates the shared memory of a primitive once for each function.
    """
    add_block_sums(words, in_units(bins))


def in_units(bins: Bins):
    """The bins in units: whole numbers, as float64."""
    a, b = (bins.a - ROUND_0) * (1.0 / UNIT_0), (bins.b - ROUND_1) * (1.0 / UNIT_1)
    c, d = (bins.c - ROUND_2) * (1.0 / UNIT_2), (bins.d - ROUND_3) * (1.0 / UNIT_3)
    return a, b, c, d, (bins.e - ROUND_4) * (1.0 / UNIT_4), bins.f * (1.0 / UNIT_5)


class SumWords(NamedTuple):
    """The words of a sum: a word for each bin, and the number of blocks whose sum was NaN."""

    a: int
    b: int
    c: int
    d: int
    e: int
    f: int
    bad: int


def read_sum(words: int):
    """The float64 that the WORDS words at address ``words`` represent."""
    a, b, c = read_epoch(words, 0), read_epoch(words, 1), read_epoch(words, 2)
    d, e, f = read_epoch(words, 3), read_epoch(words, 4), read_epoch(words, 5)
    return as_float(SumWords(a, b, c, d, e, f, read_epoch(words, BAD_WORD)))


def as_float(words: SumWords):
    """The float64 of a sum, within one unit in the last place; the same bits in kernels and on the host.

    The carries come first: after them each word but the first is at most half a unit of the word before: no bits cancel.
    """
    a, b, c, d, e, f, bad = words
    carry = (f + HALF) >> BIN_BITS
    f, e = f - (carry << BIN_BITS), e + carry
    carry = (e + HALF) >> BIN_BITS
    e, d = e - (carry << BIN_BITS), d + carry
    carry = (d + HALF) >> BIN_BITS
    d, c = d - (carry << BIN_BITS), c + carry
    carry = (c + HALF) >> BIN_BITS
    c, b = c - (carry << BIN_BITS), b + carry
    carry = (b + HALF) >> BIN_BITS
    b, a = b - (carry << BIN_BITS), a + carry
    low = (e * UNIT_4 + f * UNIT_5) + d * UNIT_3  # products by powers of two are exact
    return ((low + c * UNIT_2) + b * UNIT_1) + a * UNIT_0 if bad == 0 else NAN
