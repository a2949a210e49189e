"""A loop of sweeps on the device, as its kernels see it: its words, and its end."""

from typing import NamedTuple

from pennympi.kernels.block import Words, add_shared, bits, fence, lanes, read_epoch, wait, write_epoch
from pennympi.kernels.in_kernel import WORDS, Meeting, last_meeting, meet, sums_at, words_at
from pennympi.kernels.sweep.norm import COPIES, norm_at

from .tiles import ABOVE, BELOW, Near, signal_word

SWEEPS = 20  # of a turn of a loop on the device, an even number: a turn costs some us more than its kernels
# int64 words of such a loop: sweeps before this turn, and in all; the next sweep with a norm; how many norms there are;
# exchanges before the loop; the counter of ``arrive_last``; float64: 1 while there is another turn.  Then there is a
# table of the sweeps whose norm is due, each of which gives way to its norm.
BEFORE, STOP, DUE, NORMS, EPOCH, COUNTER, MORE, TABLE = range(8)


class Turn(NamedTuple):
    """number: of the sweep in its turn of a loop

    state:   address of the loop's words; 0: the host makes the loop
    words:   address of the norm's words, (COPIES, WORDS), zero between sweeps; 0: no norm is due
    decides: 1 if the last block looks whether the norm is small enough;  tol: what is small enough
    """

    number: int
    state: int
    words: int
    decides: int
    tol: float


def all_arrived(ctx, near: Near, state: Words):
    """Behind a loop, by one block: the last exchange has ended."""
    fence(ctx)
    epoch = read_epoch(state, EPOCH) + read_epoch(state, STOP)
    for column in range(near.across):
        wait(ctx, signal_word(near, epoch, ABOVE, column), epoch, near.up)
        wait(ctx, signal_word(near, epoch, BELOW, column), epoch, near.down)


def decide(turn: Turn, k, sums):
    """By one block, after the others of sweep k: note its norm, and end the loop if that is small enough.

    sums: address of what all PEs have added up, (COPIES, WORDS)
    """
    state, norm, n = turn.state, norm_at(sums, 0), read_epoch(turn.state, NORMS)
    following = read_epoch(state, TABLE + n + 1)
    write_epoch(state, TABLE + n, bits(norm))
    write_epoch(state, NORMS, n + 1)
    write_epoch(state, DUE, following)
    if not norm > turn.tol:
        write_epoch(state, STOP, k + 1)
    for word in lanes(0, COPIES * WORDS):
        add_shared(turn.words, word, -read_epoch(turn.words, word))


def decide_with_others(ctx, turn: Turn, place: Meeting):
    """The same by one block of each PE, in a launch behind the sweep."""
    k = read_epoch(turn.state, BEFORE) + turn.number
    if k < read_epoch(turn.state, STOP) and k == read_epoch(turn.state, DUE):
        for word in lanes(0, COPIES * WORDS):
            add_shared(words_at(place, 0), word, read_epoch(turn.words, word))
        meet(ctx, place, last_meeting(place) + 1)
        decide(turn, k, sums_at(place, 0))


def end_turn(ctx, state: Words):
    """Behind the sweeps of a turn, by one block."""
    before, stop = read_epoch(state, BEFORE) + SWEEPS, read_epoch(state, STOP)
    write_epoch(state, BEFORE, before)
    write_epoch(state, MORE, bits(1.0 if before < stop else 0.0))
