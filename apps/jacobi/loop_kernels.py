"""The kernels of a loop of sweeps on the device: the test of a norm, and the end of a turn and of the loop.

While the blocks of a sweep run, one more block tests the norm of the previous sweep.  So one sweep runs after the sweep
that ends the loop: it overwrites the older field, and its norm is not used.
"""

from typing import NamedTuple

from pennympi.kernels.block import add_shared, bits, lanes, read_epoch, store, write_epoch
from pennympi.kernels.in_kernel import WORDS
from pennympi.kernels.sweep.norm import COPIES, norm_at

from .loop_words import SWEEPS, loop_at, set_of

SET_WORDS = COPIES * WORDS


class Turn(NamedTuple):
    """A sweep of a turn.

    number:  index of the sweep in its turn
    state:   address of the loop's words; 0: a loop of the host
    words:   address of the set of words for the sweep's norm, zero before it; 0: no norm is due
    tol:     a norm of at most ``tol`` ends the loop
    decides: 1 if the first block of the launch tests the norm of the previous sweep
    """

    number: int
    state: int
    words: int
    tol: float
    decides: int


NO_LOOP = Turn(0, 0, 0, 0.0, 0)  # a sweep without a norm


def runs(turn: Turn):
    """True if the sweep runs."""
    loop = loop_at(turn.state)
    before, stop = read_epoch(loop.before, 0), read_epoch(loop.stop, 0)
    ended = read_epoch(loop.ended, turn.number)
    return ended == 0 and before + turn.number < stop


def decide(turn: Turn):
    """By one block: test the norm of the previous sweep.  Returns 1 if the loop has ended, else 0."""
    loop, number = loop_at(turn.state), turn.number
    ended, k = read_epoch(loop.ended, number), read_epoch(loop.before, 0) + number
    if number > 0 and ended == 0 and k <= read_epoch(loop.stop, 0) and read_epoch(loop.due, number - 1) != 0:
        norm = norm_at(set_of(loop, number - 1), 0)
        write_epoch(loop.table, k - 1, bits(norm))
        if not norm > turn.tol:
            ended = 1
            write_epoch(loop.valid, 0, k)
    write_epoch(loop.ended, number + 1, ended)
    cleared = set_of(loop, number + 1)
    for word in lanes(0, SET_WORDS):
        add_shared(cleared, word, -read_epoch(cleared, word))
    return ended


def end_turn(ctx, turn: Turn):
    """The kernel after a turn, of one block and int64 elements: end the loop or begin another turn."""
    loop = loop_at(turn.state)
    ended, before = decide(turn), read_epoch(loop.before, 0) + SWEEPS
    more = ended == 0 and before < read_epoch(loop.stop, 0)
    write_epoch(loop.before, 0, before)
    write_epoch(loop.more, 0, bits(1.0 if more else 0.0))
    if more:
        for number in lanes(0, SWEEPS):
            store(loop.due, number, read_epoch(loop.table, before + number))
