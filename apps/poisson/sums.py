"""The two sums of an iteration, p * A p and r * r, and the end of an iteration."""

from typing import Any, NamedTuple

from pennympi.kernels.block import Elements, Words, add_shared, copy, is_leader, lanes, read_epoch, store, sync
from pennympi.kernels.in_kernel import WORDS, WORDS_BYTES, SumWords, as_float, read_sum


class Sums(NamedTuple):
    """Exact sums, of WORDS words each, and the number of iterations.

    current: p * A p and r * r of this iteration, over this PE's points and then over all points
    history: r * r over all points; entry k + 1 is the sum after k iterations
    done:    number of iterations
    """

    current: Words
    history: Words
    done: Words


def last_square(s: Sums):
    """Address of the last r * r in the history; the previous r * r precedes it."""
    return s.history + (read_epoch(s.done, 0) + 1) * WORDS_BYTES


def ratio(a, b):
    """Quotient of two sums; 0 if the divisor is 0: at the first iteration, and after an exact solution."""
    dividend, divisor = read_sum(a), read_sum(b)
    return dividend / divisor if divisor > 0.0 else 0.0


def end_iteration(ctx, s: Sums, value: Elements):
    """The kernel after an iteration, of one block and float64: copy r * r to the history, and to the loop's value."""
    copy(last_square(s) + WORDS_BYTES, s.current + WORDS_BYTES, WORDS_BYTES)
    sync()
    for i in lanes(0, 2 * WORDS):
        add_shared(s.current, i, -read_epoch(s.current, i))
    if is_leader():
        add_shared(s.done, 0, 1)
        store(value, 0, read_sum(last_square(s)))


def floats(sums: Any) -> list[float]:
    """Sums (n, WORDS) on the host, as float64."""
    return [as_float(SumWords(*words[: len(SumWords._fields)])) for words in sums.tolist()]
