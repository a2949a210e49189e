"""Ring Reduce: partials go down the ring to the root; each PE sends the vector once, to one neighbour.

Source: the chain, or pipeline, of MPI libraries and NCCL's ring Reduce.
"""

from ..algorithm import PARTIALS, Algorithm
from ..block import put_signal, reduce, reduce_and_round, signal, to_partials, wait
from ..plans import pipeline_plan
from ..records import PE, Message, Reduction, Work
from ..slots import block_words, inbox_of, outbox_of, word
from ..steps import load_counter, neighbours, piece, rounds, store_counter, untag_epoch

WORDS = 6  # signal words of a block


def ring(pe: PE, call: Reduction, work: Work):
    """On PE root, out (n_elems,) = op over all PEs of src (n_elems,); out may be src.

    No message goes over the link out of the root.  Each link counts its own messages, as the root may change.
    inbox, outbox (blocks, 2 buffers), a buffer holds piece_elems partials
    signals       (blocks, 3, 2) words: pred's piece has arrived in a buffer; succ has read a buffer; and
                  this PE's own counts: pieces sent to succ, pieces received from pred
    """
    succ, pred = neighbours(pe)
    arrived = block_words(work, WORDS)  # (2,) words
    read = word(arrived, 2)  # (2,) words
    counts = word(arrived, 4)
    sent, taken = load_counter(work, counts, 0), load_counter(work, counts, 1)
    for start in rounds(call.n_elems, call.piece_elems):
        own = piece(call, start)
        src, partial = own.src, work.inbox
        if pred != call.root:
            # Before pred sends this piece it has waited for the signal that the piece two before it has been read: two
            # buffers and two words suffice.
            taken += 1
            partial = inbox_of(work, taken)
            wait(pe.ctx, word(arrived, taken & 1), taken, pred)
        if pe.me == call.root:
            reduce_and_round(pe.ctx, own.out, partial, src, own.n_elems)
        else:
            sent += 1
            inbox, outbox = inbox_of(work, sent), outbox_of(work, sent)
            # If succ has read this buffer of its inbox, this buffer of the outbox is free, too.
            wait(pe.ctx, word(read, sent & 1), untag_epoch(work, sent - 2), succ)
            if pred == call.root:
                to_partials(pe.ctx, outbox, src, own.n_elems)
            else:
                reduce(pe.ctx, outbox, partial, src, own.n_elems)
            put_signal(pe.ctx, Message(inbox, outbox, own.n_elems * call.acc_bytes, succ), word(arrived, sent & 1), sent)
        if pred != call.root:
            signal(pe.ctx, word(read, taken & 1), untag_epoch(work, taken), pred)
    store_counter(work, counts, 0, sent)
    store_counter(work, counts, 1, taken)


ALGORITHM = Algorithm(
    ring, pipeline_plan, slots=lambda topology, limits: 1, holds=PARTIALS, signals=lambda topology: WORDS
)
