"""A loop of sweeps on the device, as its kernels see it: its words, and its end.

While the blocks of a sweep run, one more block tests the norm of the sweep before.  So one sweep runs after the sweep
that ends the loop: it writes the other field, and its norm is not used.
"""

from typing import NamedTuple

from pennympi.kernels.block import Words, add_shared, bits, fence, lanes, read_epoch, store, wait, write_epoch
from pennympi.kernels.in_kernel import WORDS, GridBarrier, grid_barrier, last_grid_barrier, sums_at, words_at
from pennympi.kernels.sweep.norm import COPIES, norm_at

from .tiles import ABOVE, BELOW, Near, signal_word

SWEEPS = 18  # of a turn of the loop: a multiple of 2 fields and 3 sets of words; each turn costs some us
# int64 words: sweeps before this turn, and in all; those that count; those that ran; exchanges before the loop; float64:
# 1 while there is another turn.  For each sweep of a turn: whether the loop has ended before it; whether its norm is due.
# Sets of words for norms, (3, COPIES, WORDS): of a sweep, of the one before, and one that is cleared.  For each sweep of
# the loop: whether its norm is due, later the norm.
BEFORE, STOP, COUNT, RAN, EPOCH, MORE, ENDED = range(7)
DUE = ENDED + SWEEPS + 2
SETS, SET_WORDS = DUE + SWEEPS, COPIES * WORDS
TABLE = SETS + 3 * SET_WORDS


class Turn(NamedTuple):
    """number: of the sweep in its turn of a loop

    state: address of the loop's words; 0: the host makes the loop
    words: address of the set for the sweep's norm, zero before it; 0: no norm is due
    tol:   a norm up to this ends the loop
    """

    number: int
    state: int
    words: int
    tol: float


def runs(turn: Turn):
    """Whether the sweep runs."""
    before, stop = read_epoch(turn.state, BEFORE), read_epoch(turn.state, STOP)
    ended = read_epoch(turn.state, ENDED + turn.number)
    return ended == 0 and before + turn.number < stop


def decide(turn: Turn):
    """By one block: test the norm of the sweep before this one.  Returns whether the loop has ended."""
    state, number = turn.state, turn.number
    ended, k = read_epoch(state, ENDED + number), read_epoch(state, BEFORE) + number
    if number > 0 and ended == 0 and k <= read_epoch(state, STOP) and read_epoch(state, DUE + number - 1) != 0:
        norm = norm_at(state, SETS + (number - 1) % 3 * SET_WORDS)
        write_epoch(state, TABLE + k - 1, bits(norm))
        if not norm > turn.tol:
            ended = 1
            write_epoch(state, COUNT, k)
    write_epoch(state, ENDED + number + 1, ended)
    cleared = SETS + (number + 1) % 3 * SET_WORDS
    for word in lanes(cleared, cleared + SET_WORDS):
        add_shared(state, word, -read_epoch(state, word))
    return ended


def add_others(ctx, turn: Turn, barrier: GridBarrier):
    """After a sweep, by one block of each PE: replace the sweep's words by their sums over all PEs."""
    if runs(turn) and read_epoch(turn.state, DUE + turn.number) != 0:
        for word in lanes(0, SET_WORDS):
            add_shared(words_at(barrier, 0), word, read_epoch(turn.words, word))
        grid_barrier(ctx, barrier, last_grid_barrier(barrier) + 1)
        for word in lanes(0, SET_WORDS):
            add_shared(turn.words, word, read_epoch(sums_at(barrier, 0), word) - read_epoch(turn.words, word))


def end_turn(ctx, turn: Turn):
    """After the sweeps of a turn, by one block: end the loop or begin another turn.  A kernel of int64 elements."""
    ended, before = decide(turn), read_epoch(turn.state, BEFORE) + SWEEPS
    more = ended == 0 and before < read_epoch(turn.state, STOP)
    write_epoch(turn.state, BEFORE, before)
    write_epoch(turn.state, MORE, bits(1.0 if more else 0.0))
    if more:
        for number in lanes(0, SWEEPS):
            store(turn.state, DUE + number, read_epoch(turn.state, TABLE + before + number))


def all_arrived(ctx, near: Near, state: Words):
    """After a loop, by one block: wait for the last exchange."""
    fence(ctx)
    epoch = read_epoch(state, EPOCH) + read_epoch(state, RAN)
    for column in range(near.across):
        wait(ctx, signal_word(near, epoch, ABOVE, column), epoch, near.up)
        wait(ctx, signal_word(near, epoch, BELOW, column), epoch, near.down)
