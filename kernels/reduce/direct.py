"""Direct Reduce: every PE puts the root its vector, piece by piece with a signal each; one latency step.

Source: the pushed one-shot of AllReduce (one_shot.py), to one PE.  The root receives n-1
vectors, so this is for two PEs.
"""

from ..algorithm import per_pe
from ..block import combine, put_signal, signal_all, wait, wait_all
from ..plans import piece_algorithm
from ..records import PE, Message, Reduction, Work
from ..slots import block_words, inbox_slots, outbox_of, slot_at, word
from ..steps import first_round, piece_inside, store_epoch, untag_epoch


def direct(pe: PE, call: Reduction, work: Work):
    """On PE root, out (n_elems,) = op over all PEs of src (n_elems,); out may be src.

    inbox   (blocks, 2 buffers), a buffer holds (n_pes sources,) slots
    outbox  (blocks, 2 buffers) is scratch
    signals (blocks, 3, n_pes) words: a source's piece of an even, of an odd epoch has arrived; the last epoch that a
            PE has read, or does not need
    """
    first = block_words(work, 3 * pe.n_pes)
    read = word(first, 2 * pe.n_pes)  # (n_pes,) words
    epoch, start, stride = first_round(work, call.piece_elems)
    while start < call.n_elems:
        epoch += 1
        arrived = word(first, (epoch & 1) * pe.n_pes)  # (n_pes,) words
        slots = inbox_slots(work, epoch, pe.n_pes)
        scratch = outbox_of(work, epoch)
        own = piece_inside(call, start)
        if pe.me == call.root:
            wait_all(pe.ctx, arrived, epoch, pe.me, pe.n_pes)
            combine(pe, own, slots, scratch)
            signal_all(pe.ctx, read, untag_epoch(work, epoch), pe.me, pe.n_pes)
        else:
            # This piece overwrites that of epoch e-2, which the root must have read.
            wait(pe.ctx, word(read, call.root), untag_epoch(work, epoch - 2), call.root)
            message = Message(slot_at(slots, pe.me), own.src, own.nbytes, call.root)
            put_signal(pe.ctx, message, word(arrived, pe.me), epoch)
        start += stride
    if pe.me != call.root:
        signal_all(pe.ctx, read, untag_epoch(work, epoch), pe.me, pe.n_pes)  # this PE may be the root of the next call
    store_epoch(work, epoch)


ALGORITHM = piece_algorithm(direct, signals=per_pe(3))
