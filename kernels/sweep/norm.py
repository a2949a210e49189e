"""The squares of a sweep's changes, added up to the same bits in any order, split among any threads, blocks and PEs.

    squares = no_squares()                           a thread, before its points
    squares = add_square(squares, new - old)         for each point, or adder(n)(squares, changes) for a tuple of n
    add_squares_to_words(words, squares)             the thread, after its points: to the words of the sweep

The sum is that of ``kernels/in_kernel/exact.py``, of which only WINDOW bins count: the first that is not empty, and the
two after it.  A square is not negative, so the first bin that is not empty is that of the largest square.  Hence a thread
needs no other bins than the three from that of its own largest square on, and moves this window up when a larger one
comes.  It scales the changes, exactly, so that the window is always bins 0 to 2, whose constants the machine code holds.
"""

from collections.abc import Callable
from functools import cache
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

WINDOW = 3  # bins
COPIES = 8  # of the words of a sweep, a power of two: blocks add to them in turn, which spreads the atomic additions
LEVEL_BYTES = COPIES * WORDS_BYTES  # from the words of a sweep to those of the next one
LEVELS_OF_BLOCK = 64  # whose words a block clears or reads
MAX_SQUARES = 1 << 20  # that one thread adds before they become words

STEP = 2.0 ** (BIN_BITS // 2)  # from one scale to the next: of changes, whose squares go from one bin to the next
SCALE_0, SCALE_1, SCALE_2, SCALE_3 = (STEP**k for k in range(BINS - WINDOW + 1))
# A larger square belongs to a bin before bin 1, 2, 3.
EDGE_1, EDGE_2, EDGE_3 = (LIMIT / SCALE**2 for SCALE in (SCALE_1, SCALE_2, SCALE_3))
MOST = float(int(LIMIT**0.5))  # a scaled change up to here belongs to the window; float32 holds it exactly
QUICK = STEP / 2  # the square of a scaled change up to here has fewer than 2**51 units of bin 1
ROUND_1_2 = ROUND_1 + ROUND_2  # exactly
# The accumulators add up the bits of floats whose last bit is a bin's unit: their low bits are the sum of the multiples.
LOW_BITS = 51
HALF_LOW, LOW_MASK = 1 << (LOW_BITS - 1), (1 << LOW_BITS) - 1


class Squares(NamedTuple):
    """What a thread has added up.

    scale:   of changes, in the field's dtype, one of SCALE_0 to SCALE_3; 0 once a change was NaN or too large
    a, b, c: the bins of the window: bits of floats, added up as integers
    """

    scale: Any
    a: int
    b: int
    c: int


def no_squares():
    """The sum of nothing."""
    return Squares(real(SCALE_3), 0, 0, 0)


def add_square(squares: Squares, change: Any):
    """The squares with that of ``change``, new - old in the field's dtype, added."""
    scaled = change * squares.scale
    if not is_below(scaled, MOST):
        squares = raised(squares, change)
        scaled = change * squares.scale
    return cut(squares, scaled)


def _same(condition):
    return condition


@cache
def adder(
    n: int,
    dtype: str = "float64",
    in_all: Callable[[bool], bool] = _same,
    raise_all: Callable[..., Squares] | None = None,
) -> Callable[[Squares, tuple[Any, ...]], Squares]:
    """``add(squares, changes)``: ``add_square`` of each of n changes of a dtype, which look for the window together.

    Threads may have one window together.
    in_all: (condition) -> whether it holds in all of them;  raise_all: as ``raised``, and to the highest window of all
    Squares up to QUICK of the window are cut by fewer instructions.  There are one function for each change and one
    argument for each function, since loops over tuples are not unrolled.
    """
    exact, move = dtype == "float32", raise_all or raised
    cut_quickly, cut_one = (_cut_exactly, cut_float32) if exact else (_cut_rounded, cut)
    scale_all, all_below, largest, cut_all, add_all = _scale_first, _first_is_below, _first, _nothing_cut, _none
    for k in range(n):
        if k:
            scale_all, all_below, largest = _one_more(k, scale_all, all_below, largest)
        cut_all, add_all = _one_cut_more(k, cut_all, cut_one), _one_quick_more(k, add_all, cut_quickly)

    def add(squares, changes):
        scaled = scale_all(squares, changes)
        small = in_all(all_below(scaled, QUICK))
        if not small and not in_all(all_below(scaled, MOST)):
            squares = move(squares, largest(changes))
            scaled = scale_all(squares, changes)
            small = in_all(all_below(scaled, QUICK))
        if not small:
            return cut_all(squares, scaled)
        a, b, c = add_all(scaled)
        return Squares(squares.scale, squares.a + a, squares.b + (b - (a << BIN_BITS)), squares.c + c)

    return add


def _scale_first(squares, changes):
    return (changes[0] * squares.scale,)


def _first_is_below(scaled, most):
    return is_below(scaled[0], most)


def _first(changes):
    return changes[0]


def _nothing_cut(squares, scaled):
    return squares


def _one_cut_more(k, cut_all, cut_one):
    """``cut_all`` of one more change."""

    def cut_more(squares, scaled):
        return cut_one(cut_all(squares, scaled), scaled[k])

    return cut_more


def _one_more(k, scale_all, all_below, largest):
    """The same three functions for one more change."""

    def scale_more(squares, changes):
        return scale_all(squares, changes) + (changes[k] * squares.scale,)

    def more_are_below(scaled, most):
        return all_below(scaled, most) & is_below(scaled[k], most)

    def larger(changes):
        x, y = largest(changes), changes[k]
        return x if abs(y) <= abs(x) or x != x else y  # NaN, if there is one

    return scale_more, more_are_below, larger


def _none(scaled):
    return 0, 0, 0


def _one_quick_more(k, add_all, cut_quickly):
    """What ``add_all`` adds up, of one more change."""

    def add_more(scaled):
        a, b, c = add_all(scaled)
        more_a, more_b, more_c = cut_quickly(1.0 * scaled[k])
        return a + bits(more_a), b + bits(more_b), c + bits(more_c)

    return add_more


def _cut_rounded(wide):
    """The bins of a square up to QUICK * QUICK: bin 1 has what bin 0 has, too."""
    x = product(wide, wide)
    b = x + ROUND_1
    return x + ROUND_0, b, x - (b - ROUND_1_2)


def _cut_exactly(wide):
    """The same for a float32, whose square is a float64."""
    b = multiply_add(wide, wide, ROUND_1)
    return multiply_add(wide, wide, ROUND_0), b, multiply_add(wide, wide, ROUND_1_2 - b)


def is_below(scaled: Any, most):
    """Whether a scaled change is at most MOST, so that it belongs to the window, or QUICK: false where it is NaN."""
    return abs(scaled) <= real(most)


def cut(squares: Squares, scaled: Any):
    """The squares with that of a scaled change in the window added.

    It is cut as by ``add_to_bins``; all differences are exact.
    """
    wide = 1.0 * scaled  # float64
    x = product(wide, wide)
    a = x + ROUND_0
    rest = x - (a - ROUND_0)
    b = rest + ROUND_1
    c = rest - (b - ROUND_1_2)
    return Squares(squares.scale, squares.a + bits(a), squares.b + bits(b), squares.c + bits(c))


def cut_float32(squares: Squares, scaled: Any):
    """The same of a float32, whose square is a float64: six instructions of float64 in place of seven."""
    wide = 1.0 * scaled
    a = multiply_add(wide, wide, ROUND_0)
    rest = multiply_add(wide, wide, ROUND_0 - a)
    b = rest + ROUND_1
    c = rest - (b - ROUND_1_2)
    return Squares(squares.scale, squares.a + bits(a), squares.b + bits(b), squares.c + bits(c))


def raised(squares: Squares, change: Any):
    """The squares with the window at the bin of a change, unless it is there or higher."""
    wide = 1.0 * change  # float64
    x = product(wide, wide)
    if not x < LIMIT:
        scale = 0.0
    elif x > EDGE_1:
        scale = SCALE_0
    elif x > EDGE_2:
        scale = SCALE_1
    elif x > EDGE_3:
        scale = SCALE_2
    else:
        scale = SCALE_3
    return at_scale(squares, min(squares.scale, real(scale)))


def at_scale(squares: Squares, scale: Any):
    """The squares with the window at ``scale``, which is not above their own; bins below the window are dropped."""
    if scale == squares.scale:
        return squares
    if scale * real(STEP) == squares.scale:
        return Squares(scale, 0, squares.a, squares.b)
    if scale * real(STEP * STEP) == squares.scale:
        return Squares(scale, 0, 0, squares.a)
    return Squares(scale, 0, 0, 0)


def multiples(accumulator):
    """The sum of a bin in its unit, from an accumulator of ``Squares``."""
    return ((accumulator + HALF_LOW) & LOW_MASK) - HALF_LOW


def top_bin(scale: Any):
    """The first bin of the window."""
    return 0 if scale < STEP else 1 if scale < STEP * STEP else 2 if scale < STEP * STEP * STEP else 3


def copy_of_words(words):
    """Address of the words, of the copies at ``words``, that this block adds to."""
    return words + (block() & (COPIES - 1)) * WORDS_BYTES


def add_squares_to_words(words: Words, squares: Squares):
    """Add what this thread holds to the copies of the words at address ``words``."""
    at, top = copy_of_words(words), top_bin(squares.scale)
    if squares.scale == 0:
        add_shared(at, BAD_WORD, 1)
    else:
        add_shared(at, top, multiples(squares.a))
        add_shared(at, top + 1, multiples(squares.b))
        add_shared(at, top + 2, multiples(squares.c))


def scale_of_words(words: Words):
    """The scale for the window at the first bin that is not empty in the words at an address."""
    if read_epoch(words, 0) != 0:
        return real(SCALE_0)
    if read_epoch(words, 1) != 0:
        return real(SCALE_1)
    return real(SCALE_2) if read_epoch(words, 2) != 0 else real(SCALE_3)


def clear_words(ctx, words: Words, levels):
    """words (levels, COPIES, WORDS) = 0: a kernel of int64 elements.  A block clears those of LEVELS_OF_BLOCK levels."""
    first_level, stop = levels_of_block(levels)
    for k in lanes(first_level * COPIES * WORDS, stop * COPIES * WORDS):
        store(words, k, 0)


def norms_of_words(ctx, norms: Elements, words: Words, levels):
    """norms (levels,) = those of words (levels, COPIES, WORDS): a kernel of float64 elements, of blocks as above."""
    first_level, stop = levels_of_block(levels)
    for level in lanes(first_level, stop):
        at = level * COPIES * WORDS
        a, b, c = summed(words, at), summed(words, at + 1), summed(words, at + 2)
        d, e, f = summed(words, at + 3), summed(words, at + 4), summed(words, at + 5)
        store(norms, level, norm_of(SumWords(a, b, c, d, e, f, summed(words, at + BAD_WORD))))


def levels_of_block(levels):
    """(first, stop) of the levels that are this block's."""
    return block() * LEVELS_OF_BLOCK, min(levels, (block() + 1) * LEVELS_OF_BLOCK)


def summed(words, index):
    """The sum over the copies of a word, of which the first is word ``index``."""
    total = 0
    for copy in range(COPIES):
        total += read_epoch(words, index + copy * WORDS)
    return total


def norm_of(words: SumWords):
    """The norm from its words: in kernels and on the host the same bits."""
    return sqrt(as_float(counting(words)))


def counting(words: SumWords):
    """The words without the bins that don't count."""
    a, b, c, d, e, f, bad = words
    if a != 0:
        return SumWords(a, b, c, 0, 0, 0, bad)
    if b != 0:
        return SumWords(0, b, c, d, 0, 0, bad)
    if c != 0:
        return SumWords(0, 0, c, d, e, 0, bad)
    return words
