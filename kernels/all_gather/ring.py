"""Ring AllGather: the parts go round the ring; n-1 messages a PE, all to one neighbour.

Source: the second half of the ring AllReduce of Patarasu and Yuan (2009).
"""

from ..algorithm import ELEMENTS, Algorithm, per_peer
from ..block import copy, put_signal, wait
from ..plans import slots_plan
from ..records import PE, Message, Transfer, Work
from ..slots import inbox_of, outbox_of, word, words
from ..steps import load_epoch, neighbours, piece_nbytes, rounds, store_epoch


def ring(pe: PE, call: Transfer, work: Work):
    """out (n_pes, nbytes) = src (nbytes,) of every PE; src may be out[me].

    inbox   (blocks, 2 buffers), a buffer holds (n_pes-1 steps, piece_bytes)
    outbox  (blocks, 2 buffers), a buffer holds this PE's piece
    signals (blocks, 2, n_pes-1 steps) words
    """
    succ, pred = neighbours(pe)
    own_out = call.out + pe.me * call.nbytes
    epoch = load_epoch(work)
    for start in rounds(call.nbytes, call.piece_bytes):
        epoch += 1
        # When a PE has all pieces of epoch e+1, all PEs have finished epoch e: two buffers and two sets of words suffice.
        inbox, outbox = inbox_of(work, epoch), outbox_of(work, epoch)
        arrived = words(work, epoch, pe.n_pes - 1)
        nbytes = piece_nbytes(call, start)
        copy(outbox, call.src + start, nbytes)
        put_signal(pe.ctx, Message(inbox, outbox, nbytes, succ), arrived, epoch)
        if own_out != call.src:
            copy(own_out + start, outbox, nbytes)
        part = pe.me
        for step in range(pe.n_pes - 1):
            slot = inbox + step * call.piece_bytes
            part = (part + pe.n_pes - 1) % pe.n_pes
            wait(pe.ctx, word(arrived, step), epoch, pred)
            if step < pe.n_pes - 2:
                put_signal(pe.ctx, Message(slot + call.piece_bytes, slot, nbytes, succ), word(arrived, step + 1), epoch)
            copy(call.out + part * call.nbytes + start, slot, nbytes)
    store_epoch(work, epoch)


ALGORITHM = Algorithm(ring, slots_plan, slots=per_peer(1), holds=ELEMENTS)
