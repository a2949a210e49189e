"""Naive AllGather: every PE puts its part to each other PE, one after the other.

Source: the way that a loop of MPI sends would go.  Each PE sends its part n-1 times,
in n-1 messages, and waits for as many.
"""

from ..algorithm import ELEMENTS, Algorithm, Limits, Place, Plan, anywhere, cut
from ..block import copy, put_signal, wait
from ..records import PE, Transfer, Work
from ..steps import VECTOR_BYTES, WORD_BYTES, buffer, finish_epoch, last_epoch, piece_nbytes, rounds, slot, words


def naive(pe: PE, call: Transfer, work: Work):
    """out (n_pes, nbytes) = src (nbytes,) of every PE; src may be out[me].

    inbox   (blocks, 2 buffers), a buffer holds (n_pes sources) slots
    outbox  (blocks, 2 buffers), a buffer holds this PE's piece
    signals (blocks, 2, n_pes sources) words
    """
    slot_bytes = slot(work.buffer_bytes, pe.n_pes, VECTOR_BYTES)
    own_out = call.out + pe.me * call.nbytes
    epoch = last_epoch(work)
    for start in rounds(call.nbytes, call.piece_bytes):
        epoch += 1
        # A PE's piece of epoch e+1 proves that it has read all of epoch e: two buffers are enough, and two sets of words.
        inbox, outbox = work.inbox + buffer(work, epoch), work.outbox + buffer(work, epoch)
        arrived = words(work, epoch, pe.n_pes)
        own_slot, own_word = inbox + pe.me * slot_bytes, arrived + pe.me * WORD_BYTES
        nbytes = piece_nbytes(call, start)
        copy(outbox, call.src + start, nbytes)
        for k in range(1, pe.n_pes):
            put_signal(pe.ctx, own_slot, outbox, nbytes, own_word, epoch, (pe.me + k) % pe.n_pes)
        if own_out != call.src:
            copy(own_out + start, outbox, nbytes)
        for k in range(1, pe.n_pes):
            peer = (pe.me + k) % pe.n_pes
            wait(pe.ctx, arrived + peer * WORD_BYTES, epoch, peer)
            copy(call.out + peer * call.nbytes + start, inbox + peer * slot_bytes, nbytes)
    finish_epoch(work, epoch)


def plan(count: int, item_bytes: int, acc_bytes: int, place: Place, limits: Limits) -> Plan:
    """Blocks of at least 4 KiB, pieces as large as a slot allows."""
    n_blocks = min(limits.max_blocks, max(1, count * item_bytes // 4096))
    return Plan(n_blocks, cut(count, n_blocks, limits.buffer_bytes // place.n_pes // 16 * 16 // item_bytes))


ALGORITHM = Algorithm(
    name="naive",
    sentence="every PE puts its part to each other PE, one after the other",
    needs="none",
    kernel=naive,
    plan=plan,
    signals=lambda place: 2 * place.n_pes,
    slots=lambda place, limits: place.n_pes,
    holds=ELEMENTS,
    refuse=anywhere,
)
