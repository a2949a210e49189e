"""Gathered Reduce: each PE but the root adds up a different piece and sends it to the root; two latency steps.

Source: reduce-scatter and gather, Rabenseifner's reduce for long vectors (2004), in one
latency step each.  No PE sends or receives the vector more than once.
"""

from ..algorithm import per_pe, per_peer
from ..block import combine, copy, put, put_signal, signal_all, wait, wait_all
from ..plans import piece_algorithm
from ..records import PE, Message, Piece, Reduction, Work
from ..slots import block_words, inbox_slots, outbox_of, slot_at, word
from ..steps import distance, first_round, peer, piece, store_epoch, untag_epoch


def gathered(pe: PE, call: Reduction, work: Work):
    """On PE root, out (n_elems,) = op over all PEs of src (n_elems,); out may be src.

    inbox   (blocks, 2 buffers), a buffer holds (n_pes sources,) slots: parts, and on the root results
    outbox  (blocks, 2 buffers): this PE's result, then scratch
    signals (blocks, 5, n_pes) words: a source's part, its result has arrived, for an even, an odd epoch; the last epoch
            that a PE has read
    """
    pieces = pe.n_pes - 1  # pieces of a round: the (j+1)-th PE after the root adds up piece j
    arrived = block_words(work, 5 * pe.n_pes)
    read = word(arrived, 4 * pe.n_pes)  # (n_pes,) words
    epoch, start, stride = first_round(work, pieces * call.piece_elems)
    while start < call.n_elems:
        epoch += 1
        first = word(arrived, (epoch & 1) * 2 * pe.n_pes)  # (n_pes,) words
        second = word(first, pe.n_pes)  # (n_pes,) words
        slots = inbox_slots(work, epoch, pe.n_pes)
        own_slot, result = slot_at(slots, pe.me), outbox_of(work, epoch)
        # All PEs have read the messages that this epoch's messages overwrite.
        wait_all(pe.ctx, read, untag_epoch(work, epoch - 2), pe.me, pe.n_pes)
        for k in range(1, pe.n_pes):
            to = peer(pe, k)
            if to != call.root:
                part = piece(call, start, distance(pe, call.root, to) - 1)
                put(pe.ctx, own_slot, part.src, part.nbytes, to)
        signal_all(pe.ctx, first, epoch, pe.me, pe.n_pes)
        if pe.me == call.root:
            for j in range(pieces):
                source, part = peer(pe, j + 1), piece(call, start, j)
                wait(pe.ctx, word(second, source), epoch, source)
                copy(part.out, slot_at(slots, source), part.nbytes)
        else:
            own = piece(call, start, distance(pe, call.root, pe.me) - 1)
            scratch = result + slots.nbytes
            wait_all(pe.ctx, first, epoch, pe.me, pe.n_pes)
            combine(pe, Piece(result, own.src, 0, own.n_elems, own.nbytes), slots, scratch)
            put_signal(pe.ctx, Message(own_slot, result, own.nbytes, call.root), word(second, pe.me), epoch)
        signal_all(pe.ctx, read, untag_epoch(work, epoch), pe.me, pe.n_pes)
        start += stride
    store_epoch(work, epoch)


ALGORITHM = piece_algorithm(gathered, signals=per_pe(5), shares=per_peer(1), outbox=True)
