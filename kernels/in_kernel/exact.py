"""Sums of float64 that are exact, hence the same bits in any order: on any number of threads, blocks and PEs.

A value is cut into BINS parts; part k is a multiple of its unit 2**(TOP_BIT - BIN_BITS * k), and is at most half of the
unit before.  Parts of one k are added as float64: their sums are multiples of the unit below 2**53 of them, hence exact,
for up to MAX_VALUES values.  Sums of a block become int64 words, of which MAX_TOTAL values can't overflow one.  What a
value has below the last unit, 2**-142, is dropped.  A value that is NaN, or at least LIMIT, makes the sum NaN.

Source: the indexed sums of Demmel and Nguyen, "Parallel Reproducible Summation" (2015), with bins at fixed places.
"""

from typing import NamedTuple

from ..block import add_block_sums, read_epoch

BINS = 6
BIN_BITS = 30
TOP_BIT = 8
WORD_BYTES = 8
WORDS = 8  # of a sum: one for each bin, then the count of blocks with a bad sum; one is spare
WORDS_BYTES = WORD_BYTES * WORDS
BAD_WORD = BINS  # where one bin of a block is NaN, all are
MAX_VALUES = 1 << (54 - BIN_BITS)  # added before they become words, by a block; by a thread a quarter of it
MAX_TOTAL = 1 << (64 - BIN_BITS)  # added to one sum

LIMIT = 2.0 ** (TOP_BIT + BIN_BITS - 1)
NAN = float("nan")
UNIT_0, UNIT_1, UNIT_2, UNIT_3, UNIT_4, UNIT_5 = (2.0 ** (TOP_BIT - BIN_BITS * k) for k in range(BINS))
# x + ROUND_k is a number whose last bit is UNIT_k: the sum rounds x to a multiple of it.
ROUND_0, ROUND_1, ROUND_2, ROUND_3, ROUND_4, ROUND_5 = (1.5 * 2.0 ** (52 + TOP_BIT - BIN_BITS * k) for k in range(BINS))
HALF = 1 << (BIN_BITS - 1)


class Bins(NamedTuple):
    """What a thread has added up, by bins, each but the last beside its ROUND."""

    a: float
    b: float
    c: float
    d: float
    e: float
    f: float


def no_bins():
    """The sum of nothing."""
    return Bins(ROUND_0, ROUND_1, ROUND_2, ROUND_3, ROUND_4, 0.0)


def add_to_bins(bins: Bins, x: float):
    """The bins with the float64 ``x`` added.

    A bin stays between 2**52 and 2**53 units, so that adding x to it rounds x to a multiple of its unit.  Where x lies in
    the middle of two, it depends on the bin which one is taken, and the bins that follow make up for it; the last one
    drops what is left, and always the same.  The choice stands between x and the first addition: where x is a product,
    no compiler fuses the two, which would add another number.
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
    """Add what the threads of a block hold to the WORDS words at address ``words``.  All threads call it.

    It, and what calls it, is for one function of a kernel: Numba defines the shared memory of a primitive once for each.
    """
    add_block_sums(words, in_units(bins))


def in_units(bins: Bins):
    """What the bins hold as whole numbers."""
    a, b = (bins.a - ROUND_0) * (1.0 / UNIT_0), (bins.b - ROUND_1) * (1.0 / UNIT_1)
    c, d = (bins.c - ROUND_2) * (1.0 / UNIT_2), (bins.d - ROUND_3) * (1.0 / UNIT_3)
    return a, b, c, d, (bins.e - ROUND_4) * (1.0 / UNIT_4), bins.f * (1.0 / UNIT_5)


class SumWords(NamedTuple):
    """The words of a sum: those of the bins, and how many blocks had a bad one."""

    a: int
    b: int
    c: int
    d: int
    e: int
    f: int
    bad: int


def read_sum(words: int):
    """The float64 that the WORDS words at address ``words`` hold."""
    return as_float(
        SumWords(
            read_epoch(words, 0),
            read_epoch(words, 1),
            read_epoch(words, 2),
            read_epoch(words, 3),
            read_epoch(words, 4),
            read_epoch(words, 5),
            read_epoch(words, BAD_WORD),
        )
    )


def as_float(words: SumWords):
    """The float64 of a sum, nearly always the nearest one: the same bits from the same words, in kernels and on the host.

    Words are carried over first, so that each but the first is at most half a unit of the one before: nothing cancels.
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
