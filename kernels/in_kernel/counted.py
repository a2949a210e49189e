"""Sums over all blocks of all PEs that are given and taken apart, so that a block can work while they are under way.

    give_sums(ctx, place, epoch, (bins,))         all threads of all blocks
    totals = take_sums(ctx, place, epoch, keep)   the sums, the same bits for all

Unlike ``meet`` they order nothing else where there is one PE: words on their way count the blocks that added to them, and
each block looks at them by itself.  Those of odd and of even meetings lie apart: who adds to words of meeting e + 2 has
taken those of e + 1, to which all had added when they had taken those of e.  What the words were is kept for four
meetings, by each block the same: who writes that of e + 2 has come from e + 1, so all have read that of e - 2.
"""

from ..block import add_counted_sums, add_shared, block, copy, counted_sums, is_leader
from .all_sum import COUNTED_WORDS, EPOCH_WORDS, Meeting, meet, sums_at, words_at
from .exact import WORD_BYTES, WORDS_BYTES, add_to_words, in_units, read_sum

HALF_BYTES = COUNTED_WORDS * WORD_BYTES


def give_sums(ctx, place: Meeting, epoch, values):
    """Add what the threads of a block hold to the values of meeting ``epoch``: a tuple of Bins, one for each."""
    k, line = 0, place.memory + EPOCH_WORDS * WORD_BYTES + (epoch & 1) * HALF_BYTES
    for bins in values:
        if place.n_pes > 1:
            add_to_words(words_at(place, k), bins)
        else:
            add_counted_sums(ctx, line + k * WORDS_BYTES, in_units(bins))
        k += 1


def take_sums(ctx, place: Meeting, epoch, keep):
    """The sums of the first two values of a meeting.  keep: where the words of the first one go; 0: nowhere"""
    if place.n_pes > 1:
        meet(ctx, place, epoch)
        if keep != 0:
            copy(keep, sums_at(place, 0), WORDS_BYTES)
        return read_sum(sums_at(place, 0)), read_sum(sums_at(place, place.n_sums - 1))
    lines = place.memory + EPOCH_WORDS * WORD_BYTES
    seen = lines + 2 * HALF_BYTES
    was, now = seen + (epoch + 2 & 3) * HALF_BYTES, seen + (epoch & 3) * HALF_BYTES
    totals = counted_sums(ctx, lines + (epoch & 1) * HALF_BYTES, was, now, keep, place.n_sums)
    if block() == 0 and is_leader():
        add_shared(place.memory, 0, 1)
    return totals[0], totals[1]
