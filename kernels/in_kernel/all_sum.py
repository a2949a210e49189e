"""Sums over all blocks of all PEs inside a running kernel: an AllReduce of one or a few values.

    bins = add_to_bins(bins, x)               each thread, for each of its values
    total = all_sum(ctx, barrier, epoch, bins)  all threads of all blocks: the sum of all values, the same bits in all

All blocks of the launch must run at the same time.  A CPU runs blocks one after another, so launch one block there.
The blocks of a PE add to words of that PE.  The last block to arrive puts these words to all other PEs, adds up the words
of all PEs, and releases the other blocks of its PE.
"""

from typing import NamedTuple

from ..block import Words, add_shared, arrive_last, copy, lanes, put_signal, read_epoch, signal, sync, wait, wait_all
from ..records import Message
from .exact import WORD_BYTES, WORDS, WORDS_BYTES, Bins, add_to_words, read_sum

EPOCH_WORDS = 16  # the last finished epoch, the counter of ``arrive_last``, and padding to a cache line
PARTS = 5  # parts of n_sums * WORDS words: words, sums, seen, and the two buffers of the outbox


class GridBarrier(NamedTuple):
    """The memory of a barrier of all blocks of all PEs.

    me, n_pes: number of this PE, and number of PEs;  n_sums: number of values that are summed at a time
    memory:    address of ``grid_barrier_words`` symmetric int64 words, which were set to 0 once
    """

    me: int
    n_pes: int
    n_sums: int
    memory: Words


def grid_barrier_words(n_pes: int, n_sums: int) -> int:
    """Number of int64 words: state; words, sums, seen; outbox (2 buffers); signals and inbox (2 buffers, n_pes)."""
    return EPOCH_WORDS + n_sums * WORDS * (PARTS + 2 * n_pes) + 2 * n_pes


def all_sum(ctx, barrier: GridBarrier, epoch, bins: Bins):
    """The sum of all values in the bins of all threads of all PEs, in every thread.

    epoch: number of this barrier: 1 more than that of the previous barrier (``last_grid_barrier``)
    For several values call ``add_to_words(words_at(barrier, k), bins)`` for each, then ``grid_barrier``, then
    ``read_sum(sums_at(barrier, k))`` for each.
    """
    add_to_words(words_at(barrier, 0), bins)
    grid_barrier(ctx, barrier, epoch)
    return read_sum(sums_at(barrier, 0))


def last_grid_barrier(barrier: GridBarrier):
    """Epoch of the last finished barrier, which a kernel reads when it begins."""
    return read_epoch(barrier.memory, 0)


def words_at(barrier: GridBarrier, k):
    """Address of the words that this PE adds value k to.  They are never reset."""
    return barrier.memory + EPOCH_WORDS * WORD_BYTES + k * WORDS_BYTES


def sums_at(barrier: GridBarrier, k):
    """Address of the words that hold the sum of value k, from a barrier until this block enters the next barrier."""
    return words_at(barrier, barrier.n_sums + k)


def grid_barrier(ctx, barrier: GridBarrier, epoch):
    """Wait for all blocks of all PEs, and sum up the values that they have added since the last barrier.

    A block then sees all earlier writes of the blocks of this PE, and of the PEs that pointers reach.
    """
    if arrive_last(barrier.memory + WORD_BYTES):
        give(ctx, barrier, epoch)
        take(ctx, barrier, epoch)
        signal(ctx, barrier.memory, epoch, barrier.me)
    else:
        wait(ctx, barrier.memory, epoch, barrier.me)


def give(ctx, barrier: GridBarrier, epoch):
    """Put this PE's words to all other PEs.  The put reads a copy, since blocks may add to the words while it runs.

    inbox (2 buffers, n_pes) slots, outbox (2 buffers), of n_sums * WORDS words each.  Epoch e + 2 uses the buffer of e
    again.  By then this PE has received the words of e + 1 from every peer, which sent them after it had read those of e.
    """
    nbytes, index = barrier.n_sums * WORDS_BYTES, (epoch & 1) * barrier.n_pes + barrier.me
    out = words_at(barrier, (3 + (epoch & 1)) * barrier.n_sums)
    slot = words_at(barrier, PARTS * barrier.n_sums) + 2 * barrier.n_pes * WORD_BYTES + index * nbytes
    word = words_at(barrier, PARTS * barrier.n_sums) + index * WORD_BYTES
    if barrier.n_pes > 1:
        copy(out, words_at(barrier, 0), nbytes)
    for k in range(1, barrier.n_pes):
        put_signal(ctx, Message(slot, out, nbytes, (barrier.me + k) % barrier.n_pes), word, epoch)


def take(ctx, barrier: GridBarrier, epoch):
    """sums = growth of the words of all PEs since the last epoch, exact even if a word overflows.

    The words ``seen`` hold the sum of the words of all PEs at the last epoch.
    """
    n_words, index = barrier.n_sums * WORDS, (epoch & 1) * barrier.n_pes
    signals = words_at(barrier, PARTS * barrier.n_sums) + index * WORD_BYTES
    slots = words_at(barrier, PARTS * barrier.n_sums) + 2 * barrier.n_pes * WORD_BYTES + index * n_words * WORD_BYTES
    words, sums, seen = words_at(barrier, 0), sums_at(barrier, 0), words_at(barrier, 2 * barrier.n_sums)
    wait_all(ctx, signals, epoch, barrier.me, barrier.n_pes)
    for k in lanes(0, n_words):
        grown = read_epoch(words, k) - read_epoch(seen, k)
        for pe in range(barrier.n_pes):
            if pe != barrier.me:
                grown += read_epoch(slots, pe * n_words + k)
        add_shared(seen, k, grown)  # no other thread adds to this word: it is a plain store
        add_shared(sums, k, grown - read_epoch(sums, k))
    sync()
