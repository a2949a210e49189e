"""Ring Broadcast: the pieces go down the ring from the root; each PE sends the vector once, to one neighbour.

Source: the chain, or pipeline, of MPI libraries and NCCL's ring Broadcast.
"""

from ..algorithm import ELEMENTS, Algorithm
from ..block import copy, put_signal, signal, wait
from ..plans import pipeline_plan
from ..records import PE, Message, Transfer, Work
from ..slots import block_words, inbox_of, outbox_of, word
from ..steps import load_counter, neighbours, piece_nbytes, rounds, store_counter, untag_epoch

WORDS = 6  # signal words of a block


def ring(pe: PE, call: Transfer, work: Work):
    """out (nbytes,) = src (nbytes,) of PE root; out is src.

    No message goes over the link into the root.  Each link counts its own messages, as the root may change.
    inbox, outbox (blocks, 2 buffers), a buffer holds piece_bytes
    signals       (blocks, 3, 2) words: pred's piece has arrived in a buffer; succ has read a buffer; and
                  this PE's own counts: pieces sent to succ, pieces received from pred
    """
    succ, pred = neighbours(pe)
    arrived = block_words(work, WORDS)  # (2,) words
    read = word(arrived, 2)  # (2,) words
    counts = word(arrived, 4)
    sent, taken = load_counter(work, counts, 0), load_counter(work, counts, 1)
    for start in rounds(call.nbytes, call.piece_bytes):
        nbytes = piece_nbytes(call, start)
        source = call.src + start
        if pe.me != call.root:
            # Before pred sends this piece it has waited for the signal that the piece two before it has been read: two
            # buffers and two words suffice.
            taken += 1
            source = inbox_of(work, taken)
            wait(pe.ctx, word(arrived, taken & 1), taken, pred)
        if succ != call.root:
            sent += 1
            inbox, outbox = inbox_of(work, sent), outbox_of(work, sent)
            # If succ has read this buffer of its inbox, this buffer of the outbox is free, too.
            wait(pe.ctx, word(read, sent & 1), untag_epoch(work, sent - 2), succ)
            copy(outbox, source, nbytes)
            put_signal(pe.ctx, Message(inbox, outbox, nbytes, succ), word(arrived, sent & 1), sent)
        if pe.me != call.root:
            copy(call.out + start, source, nbytes)
            signal(pe.ctx, word(read, taken & 1), untag_epoch(work, taken), pred)
    store_counter(work, counts, 0, sent)
    store_counter(work, counts, 1, taken)


ALGORITHM = Algorithm(
    ring, pipeline_plan, slots=lambda topology, limits: 1, holds=ELEMENTS, signals=lambda topology: WORDS
)
