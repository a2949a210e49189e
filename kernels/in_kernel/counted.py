"""Sums over all blocks of all PEs in two steps, so that a block can work between giving its values and taking the sums.

    give_sums(ctx, barrier, epoch, (bins,))         all threads of all blocks
    totals = take_sums(ctx, barrier, epoch, keep)   the sums, the same bits in all threads

Several PEs use ``grid_barrier``.  On one PE the words count the blocks that have added to them, and each block polls the
words itself: this orders no other memory accesses.  Two buffers of words are used in turn, by even and odd epochs: a
block that adds to the buffer in epoch e + 2 has taken the sums of e + 1, to which every block added after it had taken
those of e.  Four copies of what the words were are kept, and every block writes the same there: a block that writes the
copy of e + 2 has taken the sums of e + 1, so all blocks have read the copy of e - 2.
"""

from ..block import add_counted_sums, add_shared, block, copy, counted_sums, is_leader
from .all_sum import COUNTED_WORDS, EPOCH_WORDS, GridBarrier, grid_barrier, sums_at, words_at
from .exact import WORD_BYTES, WORDS_BYTES, add_to_words, read_sum

BUFFER_BYTES = COUNTED_WORDS * WORD_BYTES


def give_sums(ctx, barrier: GridBarrier, epoch, values):
    """Add the values of a block's threads to the sums of barrier ``epoch``.  values: a tuple of one or two Bins"""
    if barrier.n_pes > 1:
        add_to_words(words_at(barrier, 0), values[0])
        if len(values) > 1:
            add_to_words(words_at(barrier, 1), values[1])
    else:
        add_counted_sums(ctx, barrier.memory + EPOCH_WORDS * WORD_BYTES + (epoch & 1) * BUFFER_BYTES, values)


def take_sums(ctx, barrier: GridBarrier, epoch, keep):
    """The first and the last sum of a barrier.  keep: address to which the words of the first sum are copied; 0: none"""
    if barrier.n_pes > 1:
        grid_barrier(ctx, barrier, epoch)
        if keep != 0:
            copy(keep, sums_at(barrier, 0), WORDS_BYTES)
        return read_sum(sums_at(barrier, 0)), read_sum(sums_at(barrier, barrier.n_sums - 1))
    lines = barrier.memory + EPOCH_WORDS * WORD_BYTES
    seen = lines + 2 * BUFFER_BYTES
    was, now = seen + (epoch + 2 & 3) * BUFFER_BYTES, seen + (epoch & 3) * BUFFER_BYTES
    totals = counted_sums(ctx, lines + (epoch & 1) * BUFFER_BYTES, was, now, keep, barrier.n_sums)
    if block() == 0 and is_leader():
        add_shared(barrier.memory, 0, 1)
    return totals
