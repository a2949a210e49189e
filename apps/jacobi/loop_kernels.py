"""A loop of sweeps on the device, as its kernels see it: its turns, and its end.

While the blocks of a sweep run, one more block tests the norm of the sweep before.  So one sweep runs after the sweep
that ends the loop: it writes the other field, and its norm is not used.
"""

from typing import NamedTuple

from pennympi.kernels.block import add_shared, bits, lanes, read_epoch, store, write_epoch
from pennympi.kernels.in_kernel import WORDS, GridBarrier, grid_barrier, last_grid_barrier, sums_at, words_at
from pennympi.kernels.sweep.norm import COPIES, norm_at

from .loop_words import SWEEPS, loop_at, set_of

SET_WORDS = COPIES * WORDS


class Turn(NamedTuple):
    """number: of the sweep in its turn of a loop

    state: address of the loop's words; 0: the host makes the loop
    words: address of the set for the sweep's norm, zero before it; 0: no norm is due
    tol:   a norm up to this ends the loop
    decides: 1 if the first block of the launch tests the norm of the sweep before
    """

    number: int
    state: int
    words: int
    tol: float
    decides: int


NO_LOOP = Turn(0, 0, 0, 0.0, 0)  # a sweep without a norm


def runs(turn: Turn):
    """Whether the sweep runs."""
    loop = loop_at(turn.state)
    before, stop = read_epoch(loop.before, 0), read_epoch(loop.stop, 0)
    ended = read_epoch(loop.ended, turn.number)
    return ended == 0 and before + turn.number < stop


def decide(turn: Turn):
    """By one block: test the norm of the sweep before this one.  Returns whether the loop has ended."""
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


def add_others(ctx, turn: Turn, barrier: GridBarrier):
    """After a sweep, by one block of each PE: replace the sweep's words by their sums over all PEs."""
    if runs(turn) and read_epoch(loop_at(turn.state).due, turn.number) != 0:
        for word in lanes(0, SET_WORDS):
            add_shared(words_at(barrier, 0), word, read_epoch(turn.words, word))
        grid_barrier(ctx, barrier, last_grid_barrier(barrier) + 1)
        for word in lanes(0, SET_WORDS):
            add_shared(turn.words, word, read_epoch(sums_at(barrier, 0), word) - read_epoch(turn.words, word))


def end_turn(ctx, turn: Turn):
    """After the sweeps of a turn, by one block: end the loop or begin another turn.  A kernel of int64 elements."""
    loop = loop_at(turn.state)
    ended, before = decide(turn), read_epoch(loop.before, 0) + SWEEPS
    more = ended == 0 and before < read_epoch(loop.stop, 0)
    write_epoch(loop.before, 0, before)
    write_epoch(loop.more, 0, bits(1.0 if more else 0.0))
    if more:
        for number in lanes(0, SWEEPS):
            store(loop.due, number, read_epoch(loop.table, before + number))
