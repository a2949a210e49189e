"""Sums over all blocks of all PEs inside a kernel, which goes on with them: an AllReduce of one or a few values.

    bins = add_to_bins(bins, x)               each thread, for each of its values
    total = all_sum(ctx, place, epoch, bins)  all threads of all blocks: the sum of all values, the same bits for all

All blocks of the launch must run at the same time.  A PE on a CPU runs its blocks one after another: it has one there.
The blocks of a PE add to words of its own.  The last one to arrive gives them to all other PEs, adds up what those have
given, and lets the other blocks go on.
"""

from typing import NamedTuple

from ..block import Words, add_shared, arrive_last, copy, lanes, put_signal, read_epoch, signal, sync, wait, wait_all
from .exact import WORD_BYTES, WORDS, WORDS_BYTES, Bins, add_to_words, read_sum

EPOCH_WORDS = 16  # the last finished epoch, the counter of ``arrive_last``, and the rest of a cache line
COUNTED_WORDS = 4 * WORDS  # of a half of ``counted.py``, which has two, and four of what they were
STATE_WORDS = EPOCH_WORDS + 6 * COUNTED_WORDS
PARTS = 5  # of n_sums * WORDS words each: words, sums, seen, and two halves of an outbox


class Meeting(NamedTuple):
    """Where the blocks of all PEs meet.

    me, n_pes: this PE's number, and how many there are;  n_sums: values that are summed at a time
    memory:    symmetric, ``meeting_words`` int64 words that were zero once
    """

    me: int
    n_pes: int
    n_sums: int
    memory: Words


def meeting_words(n_pes: int, n_sums: int) -> int:
    """64-bit words of a meeting's memory: state; words, sums, seen; outbox (2,); signals and inbox (2, n_pes)."""
    return STATE_WORDS + n_sums * WORDS * (PARTS + 2 * n_pes) + 2 * n_pes


def all_sum(ctx, place: Meeting, epoch, bins: Bins):
    """The sum of all values in the bins of all threads of all PEs, in every thread.

    epoch: the number of this meeting, one more than that of the one before (``last_meeting``)
    Several values: ``add_to_words(words_at(place, k), bins)`` for each, ``meet``, then ``read_sum(sums_at(place, k))``.
    """
    add_to_words(words_at(place, 0), bins)
    meet(ctx, place, epoch)
    return read_sum(sums_at(place, 0))


def last_meeting(place: Meeting):
    """The epoch of the last meeting, for a kernel that begins."""
    return read_epoch(place.memory, 0)


def words_at(place: Meeting, k):
    """Address of the words that this PE adds value k to.  They are never reset."""
    return place.memory + STATE_WORDS * WORD_BYTES + k * WORDS_BYTES


def sums_at(place: Meeting, k):
    """Address of the words that hold the sum of value k after a meeting, until this block comes to the next one."""
    return words_at(place, place.n_sums + k)


def meet(ctx, place: Meeting, epoch):
    """Wait until all blocks of all PEs are here, and sum up what they have added since the meeting before.

    Whoever goes on sees what all blocks of this PE, and of all PEs that are reached by pointers, wrote before they came.
    """
    if arrive_last(place.memory + WORD_BYTES):
        give(ctx, place, epoch)
        take(ctx, place, epoch)
        signal(ctx, place.memory, epoch, place.me)
    else:
        wait(ctx, place.memory, epoch, place.me)


def give(ctx, place: Meeting, epoch):
    """Put this PE's words to all others, from a copy: the words are added to while a put may still read.

    inbox (2 parities, n_pes) slots, outbox (2 parities) of n_sums * WORDS words.  A half is used again two epochs later.
    By then this PE has had the words of the epoch between from every other PE, which sent them when it had read these.
    """
    nbytes, at = place.n_sums * WORDS_BYTES, (epoch & 1) * place.n_pes + place.me
    out = words_at(place, (3 + (epoch & 1)) * place.n_sums)
    slot = words_at(place, PARTS * place.n_sums) + 2 * place.n_pes * WORD_BYTES + at * nbytes
    word = words_at(place, PARTS * place.n_sums) + at * WORD_BYTES
    if place.n_pes > 1:
        copy(out, words_at(place, 0), nbytes)
    for k in range(1, place.n_pes):
        put_signal(ctx, slot, out, nbytes, word, epoch, (place.me + k) % place.n_pes)


def take(ctx, place: Meeting, epoch):
    """sums = what the words of all PEs have grown by since the epoch before, exact even where a word wraps around.

    seen: the words of all PEs, added up, at the epoch before
    """
    n_words, at = place.n_sums * WORDS, (epoch & 1) * place.n_pes
    signals = words_at(place, PARTS * place.n_sums) + at * WORD_BYTES
    slots = words_at(place, PARTS * place.n_sums) + 2 * place.n_pes * WORD_BYTES + at * n_words * WORD_BYTES
    words, sums, seen = words_at(place, 0), sums_at(place, 0), words_at(place, 2 * place.n_sums)
    wait_all(ctx, signals, epoch, place.me, place.n_pes)
    for k in lanes(0, n_words):
        grown = read_epoch(words, k) - read_epoch(seen, k)
        for pe in range(place.n_pes):
            if pe != place.me:
                grown += read_epoch(slots, pe * n_words + k)
        add_shared(seen, k, grown)  # each thread has a word of its own: this only stores
        add_shared(sums, k, grown - read_epoch(sums, k))
    sync()
