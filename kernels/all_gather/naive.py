"""Naive AllGather: every PE puts its part to each other PE, one after the other; n-1 messages a PE.

Source: a loop of MPI sends.
"""

from ..algorithm import ELEMENTS, Algorithm, per_pe
from ..block import copy, put_signal, wait
from ..plans import slots_plan
from ..records import PE, Message, Transfer, Work
from ..slots import inbox_slots, outbox_of, slot_at, word, words
from ..steps import load_epoch, peer, piece_nbytes, rounds, store_epoch


def naive(pe: PE, call: Transfer, work: Work):
    """out (n_pes, nbytes) = src (nbytes,) of every PE; src may be out[me].

    inbox   (blocks, 2 buffers), a buffer holds (n_pes sources,) slots
    outbox  (blocks, 2 buffers), a buffer holds this PE's piece
    signals (blocks, 2, n_pes sources) words
    """
    own_out = call.out + pe.me * call.nbytes
    epoch = load_epoch(work)
    for start in rounds(call.nbytes, call.piece_bytes):
        epoch += 1
        # A PE sends for epoch e+1 after it has read all of epoch e: two buffers and two sets of words suffice.
        slots = inbox_slots(work, epoch, pe.n_pes)
        outbox = outbox_of(work, epoch)
        arrived = words(work, epoch, pe.n_pes)
        nbytes = piece_nbytes(call, start)
        copy(outbox, call.src + start, nbytes)
        for k in range(1, pe.n_pes):
            put_signal(pe.ctx, Message(slot_at(slots, pe.me), outbox, nbytes, peer(pe, k)), word(arrived, pe.me), epoch)
        if own_out != call.src:
            copy(own_out + start, outbox, nbytes)
        for k in range(1, pe.n_pes):
            source = peer(pe, k)
            wait(pe.ctx, word(arrived, source), epoch, source)
            copy(call.out + source * call.nbytes + start, slot_at(slots, source), nbytes)
    store_epoch(work, epoch)


ALGORITHM = Algorithm(naive, slots_plan, slots=per_pe(1), holds=ELEMENTS)
