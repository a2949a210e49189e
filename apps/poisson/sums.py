"""The two sums of an iteration, p * A p and r * r, and the end of an iteration."""

from typing import NamedTuple

from pennympi.kernels.block import Elements, Words, add_shared, bits, copy, lanes, read_epoch, real, store, write_epoch
from pennympi.kernels.in_kernel import WORDS, WORDS_BYTES, read_sum


class Sums(NamedTuple):
    """Exact sums, of WORDS words each, and what follows from them.

    current: p * A p and r * r of this iteration, over this PE's points and then over all points
    squares: the last r * r over all points, and the one before
    history: the number k of iterations; then r * r after 0, 1, ... k iterations, each the bits of a float64
    square:  the last r * r, the bits of a float64
    beta:    quotient of the two squares, in the dtype of the fields
    """

    current: Words
    squares: Words
    history: Words
    square: Words
    beta: Elements


def ratio(dividend, divisor):
    """Quotient of two sums; 0 if the divisor is 0: at the first iteration, and after an exact solution."""
    return dividend / divisor if divisor > 0.0 else 0.0


def end_iteration(ctx, s: Sums, n: int):
    """The kernel of one block at the end of an iteration (n = 1), or after r has been computed from u (n = 0)."""
    done = read_epoch(s.history, 0) + n
    square, before = read_sum(s.current + WORDS_BYTES), read_sum(s.squares + (1 - n) * WORDS_BYTES)
    write_epoch(s.square, 0, bits(square))
    if n == 1:
        copy(s.squares + WORDS_BYTES, s.squares, WORDS_BYTES)
    copy(s.squares, s.current + WORDS_BYTES, WORDS_BYTES)
    write_epoch(s.history, done + 1, bits(square))  # is also a barrier of the block
    for i in lanes(0, 2 * WORDS):
        add_shared(s.current, i, -read_epoch(s.current, i))
    for _ in lanes(0, 1):
        store(s.beta, 0, real(ratio(square, before)))
    write_epoch(s.history, 0, done)
