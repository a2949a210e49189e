"""The norm of a sweep's changes.  Its bits do not depend on the order of threads, blocks and PEs.

    squares = no_squares()                           before a thread's points
    squares = add_group(squares, value)              for each group, or add_values(n, squares, values)
    add_squares_to_words(words, squares)             after a thread's points: add to the words of the sweep

A group is GROUP_BYTES of a row.  It begins at an index in the whole grid that is a multiple of its number of points.
Its value is the sum of the squares of its changes, in the field's dtype: each half by ``half_sum``, then the sum of
both halves.  A change beyond the grid is 0.

The values are added up exactly, as in ``kernels/in_kernel/exact.py``, but only WINDOW bins count: the first bin that is
not empty, and the next two bins.  Values are not negative, so the largest value determines the first bin.  Hence a
thread keeps three bins, a window that begins at the bin of its largest value, and moves the window up when a larger value
comes.  It scales the values, exactly, so that the window is always bins 0 to 2, with constants in the machine code.
"""

from collections.abc import Callable
from math import sqrt
from typing import Any, NamedTuple

from ..block import Elements, Words, add_shared, bits, block, lanes, multiply_add, product, read_epoch, real, store
from ..in_kernel.exact import (
    BAD_WORD,
    BIN_BITS,
    BINS,
    LIMIT,
    ROUND_0,
    ROUND_1,
    ROUND_2,
    WORDS,
    WORDS_BYTES,
    SumWords,
    as_float,
)
from ..static import Static, static

GROUP_BYTES = 32
WINDOW = 3  # bins
COPIES = 8  # copies of a sweep's words, a power of two: blocks add to different copies, to spread atomic additions
LEVEL_BYTES = COPIES * WORDS_BYTES  # bytes of the words of a sweep
LEVELS_OF_BLOCK = 64  # number of sweeps whose words a block clears or reads
MAX_GROUPS = 1 << 20  # the most groups that a thread may add before ``add_squares_to_words``

STEP = 2.0**BIN_BITS  # factor between two scales: it moves values by one bin
SCALE_0, SCALE_1, SCALE_2, SCALE_3 = (STEP**k for k in range(BINS - WINDOW + 1))
# A value of at most EDGE_k adds 0 to the bins before bin k: half a unit is rounded to 0.
EDGE_1, EDGE_2 = LIMIT / SCALE_1, LIMIT / SCALE_2
QUICK = STEP / 4  # a scaled value below it has fewer than 2**51 units of bin 1
ROUND_1_2 = ROUND_1 + ROUND_2  # exactly
# Accumulators add up the bits of floats whose last bit is one unit, so their low bits are the sum in units.
LOW_BITS = 51
HALF_LOW, LOW_MASK = 1 << (LOW_BITS - 1), (1 << LOW_BITS) - 1


class Squares(NamedTuple):
    """The sum of a thread's values.

    scale:   factor of the values, in the field's dtype: SCALE_0 to SCALE_3; 0 after a value that is NaN or too large
    a, b, c: bins of the window, as sums of the bits of floats
    """

    scale: Any
    a: int
    b: int
    c: int


def no_squares():
    """The sum of no values."""
    return Squares(real(SCALE_3), 0, 0, 0)


def group_points(item_bytes: int) -> Static[int]:
    """Number of points of a group."""
    return GROUP_BYTES // item_bytes


MOST_GROUP_POINTS = group_points(4)


def half_sum(n: Static[int], changes):
    """The sum of the squares of the n changes of half a group."""
    total = product(changes[0], changes[0])
    for k in static(1, n):
        total = multiply_add(changes[k], changes[k], total)
    return total


def add_group(squares: Squares, value: Any):
    """Add the value of a group, in the field's dtype."""
    squares = raised(squares, value)
    return cut(squares, value * squares.scale)


def as_is(condition):
    """The condition itself, if no other thread shares the window (``add_values``)."""
    return condition


def raised(squares: Squares, value: Any):
    """The squares with the window raised to the bin of a value, if it is lower."""
    if value * squares.scale <= real(LIMIT):
        return squares
    if value <= real(EDGE_2):
        scale = SCALE_2
    elif value <= real(EDGE_1):
        scale = SCALE_1
    elif value <= real(LIMIT):
        scale = SCALE_0
    else:
        scale = 0.0
    return at_scale(squares, min(squares.scale, real(scale)))


def add_values(
    n: Static[int],
    squares: Squares,
    values,
    in_all: Static[Callable[..., bool]] = as_is,
    raise_window: Static[Callable[..., Squares]] = raised,
):
    """``add_group`` of each of n values, with one test of the window for all values.

    Several threads may share a window:
    in_all: (condition) -> True if it holds in all threads
    raise_window: ``raised`` to the highest window of all threads
    Scaled values below QUICK take fewer instructions: b first contains the sum a, too, which is subtracted at the end.
    """
    whole = joined(add, 0, n, values)
    if not in_all(whole * squares.scale < real(QUICK)):
        largest = joined(larger, 0, n, values) if whole == whole else whole
        return cut_values(n, raise_window(squares, largest), values)
    a, b, c = 0, 0, 0
    for k in static(n):
        wide = 1.0 * (values[k] * squares.scale)  # float64
        in_b = wide + ROUND_1
        a = a + bits(wide + ROUND_0)
        b = b + bits(in_b)
        c = c + bits(wide - (in_b - ROUND_1_2))
    return Squares(squares.scale, squares.a + a, squares.b + (b - (a << BIN_BITS)), squares.c + c)


def add(x, y):
    """The sum of two numbers."""
    return x + y


def larger(x, y):
    """The larger of two numbers."""
    return max(x, y)


def joined(join: Static[Callable[..., Any]], first: Static[int], n: Static[int], values):
    """The join of n values, pairwise as a tree.  first: index of the first value"""
    if n == 1:
        return values[first]
    half = n // 2
    return join(joined(join, first, half, values), joined(join, first + half, n - half, values))


def cut_values(n: Static[int], squares: Squares, values):
    """Add n values that lie in the window or below."""
    for k in static(n):
        squares = cut(squares, values[k] * squares.scale)
    return squares


def cut(squares: Squares, scaled: Any):
    """Add a scaled value, cut into bins as by ``add_to_bins``.  All differences are exact."""
    wide = 1.0 * scaled  # float64
    a = wide + ROUND_0
    remainder = wide - (a - ROUND_0)
    b = remainder + ROUND_1
    c = remainder - (b - ROUND_1_2)
    return Squares(squares.scale, squares.a + bits(a), squares.b + bits(b), squares.c + bits(c))


def at_scale(squares: Squares, scale: Any):
    """The squares with the window of a lower ``scale``.  Bins below the window are dropped."""
    if scale == squares.scale:
        return squares
    if scale * real(STEP) == squares.scale:
        return Squares(scale, 0, squares.a, squares.b)
    if scale * real(STEP * STEP) == squares.scale:
        return Squares(scale, 0, 0, squares.a)
    return Squares(scale, 0, 0, 0)


def multiples(accumulator):
    """The sum of a bin in units.  accumulator: a field of ``Squares``"""
    return ((accumulator + HALF_LOW) & LOW_MASK) - HALF_LOW


def top_bin(scale: Any):
    """Index of the first bin of the window."""
    return 0 if scale < STEP else 1 if scale < STEP**2 else 2 if scale < STEP**3 else 3


def copy_of_words(words):
    """Address of the copy of the words at ``words`` that this block adds to."""
    return words + (block() & (COPIES - 1)) * WORDS_BYTES


def add_squares_to_words(words: Words, squares: Squares):
    """Add the sum of this thread to the words at address ``words``."""
    first_word, top = copy_of_words(words), top_bin(squares.scale)
    if squares.scale == 0:
        add_shared(first_word, BAD_WORD, 1)
    else:
        add_shared(first_word, top, multiples(squares.a))
        add_shared(first_word, top + 1, multiples(squares.b))
        add_shared(first_word, top + 2, multiples(squares.c))


def clear_words(ctx, words: Words, levels):
    """A kernel of int64 elements: words (levels, COPIES, WORDS) = 0, with a block for each LEVELS_OF_BLOCK levels."""
    first_level, stop = levels_of_block(levels)
    for k in lanes(first_level * COPIES * WORDS, stop * COPIES * WORDS):
        store(words, k, 0)


def norms_of_words(ctx, norms: Elements, words: Words, levels):
    """A kernel of float64 elements: norms (levels,) of words (levels, COPIES, WORDS), with the blocks of
    ``clear_words``."""
    first_level, stop = levels_of_block(levels)
    for level in lanes(first_level, stop):
        store(norms, level, norm_at(words, level * COPIES * WORDS))


def norm_at(words: Words, first_word):
    """The norm of the sweep whose words (COPIES, WORDS) begin at index ``first_word``."""
    a, b, c = summed(words, first_word), summed(words, first_word + 1), summed(words, first_word + 2)
    d, e, f = summed(words, first_word + 3), summed(words, first_word + 4), summed(words, first_word + 5)
    return norm_of(SumWords(a, b, c, d, e, f, summed(words, first_word + BAD_WORD)))


def levels_of_block(levels):
    """(first, stop) of the levels of this block."""
    return block() * LEVELS_OF_BLOCK, min(levels, (block() + 1) * LEVELS_OF_BLOCK)


def summed(words, index):
    """The sum of a word over its copies.  index: index of the word in the first copy"""
    total = 0
    for copy in range(COPIES):
        total += read_epoch(words, index + copy * WORDS)
    return total


def norm_of(words: SumWords):
    """The norm that words represent, with the same bits in kernels and on the host."""
    return sqrt(as_float(window_words(words)))


def window_words(words: SumWords):
    """The words with the bins below the window set to 0."""
    a, b, c, d, e, f, bad = words
    if a != 0:
        return SumWords(a, b, c, 0, 0, 0, bad)
    if b != 0:
        return SumWords(0, b, c, d, 0, 0, bad)
    if c != 0:
        return SumWords(0, 0, c, d, e, 0, bad)
    return words
