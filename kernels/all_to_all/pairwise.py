"""Pairwise all-to-all: every PE puts each other PE its part, one after the other; n-1 messages a PE.

Source: the pairwise exchange of MPI libraries.  In step k a PE sends to the k-th PE
after it, so that no two PEs send to the same PE.
"""

from ..algorithm import ELEMENTS, Algorithm, per_pe
from ..block import copy, put_signal, wait
from ..plans import slots_plan
from ..records import PE, Message, Transfer, Work
from ..slots import inbox_slots, outbox_slots, slot_at, word, words
from ..steps import first_round, peer, piece_nbytes, store_epoch


def pairwise(pe: PE, call: Transfer, work: Work):
    """out (n_pes, nbytes) = part ``me`` of src (n_pes, nbytes) of every PE; out may be src.

    inbox   (blocks, 2 buffers), a buffer holds (n_pes sources,) slots
    outbox  (blocks, 2 buffers), a buffer holds (n_pes destinations,) slots
    signals (blocks, 2, n_pes sources) words
    """
    epoch, start, stride = first_round(work, call.piece_bytes)
    while start < call.nbytes:
        epoch += 1
        # A PE sends for epoch e+1 after it has read all of epoch e: two buffers and two sets of words suffice.
        slots = inbox_slots(work, epoch, pe.n_pes)
        parts = outbox_slots(work, epoch, pe.n_pes)
        arrived = words(work, epoch, pe.n_pes)
        nbytes = piece_nbytes(call, start)
        for k in range(1, pe.n_pes):
            to = peer(pe, k)
            copy(slot_at(parts, to), call.src + to * call.nbytes + start, nbytes)
            message = Message(slot_at(slots, pe.me), slot_at(parts, to), nbytes, to)
            put_signal(pe.ctx, message, word(arrived, pe.me), epoch)
        if call.out != call.src:
            copy(call.out + pe.me * call.nbytes + start, call.src + pe.me * call.nbytes + start, nbytes)
        for k in range(1, pe.n_pes):
            source = peer(pe, pe.n_pes - k)
            wait(pe.ctx, word(arrived, source), epoch, source)
            copy(call.out + source * call.nbytes + start, slot_at(slots, source), nbytes)
        start += stride
    store_epoch(work, epoch)


ALGORITHM = Algorithm(pairwise, slots_plan, slots=per_pe(1), holds=ELEMENTS)
