"""Spread Broadcast: the root sends each PE a different piece, and these PEs exchange pieces; two latency steps.

Source: scatter and all-gather, as van de Geijn's broadcast for long vectors (Barnett
et al. 1994), in one latency step each.  No PE sends or receives the vector more than once.
"""

from ..algorithm import per_pe, per_peer
from ..block import copy, put, signal_all, wait, wait_all
from ..plans import piece_algorithm
from ..records import PE, Transfer, Work
from ..slots import block_words, inbox_slots, slot_at, word
from ..steps import distance, first_round, peer, piece_nbytes, store_epoch, untag_epoch


def pass_on(pe: PE, slot: int, nbytes: int, root: int) -> None:
    """Put a piece to the same slot of every other PE but the root."""
    for k in range(1, pe.n_pes):
        to = peer(pe, k)
        if to != root:
            put(pe.ctx, slot, slot, nbytes, to)


def spread(pe: PE, call: Transfer, work: Work):
    """out (nbytes,) = src (nbytes,) of PE root; out is src.

    inbox   (blocks, 2 buffers), a buffer holds (n_pes-1 pieces,) slots
    signals (blocks, 3, n_pes) words: a source's piece of an even, of an odd epoch has arrived; the last epoch
            that a PE has read
    """
    pieces = pe.n_pes - 1  # pieces of a round: the root sends piece j to the (j+1)-th PE after it
    first = block_words(work, 3 * pe.n_pes)
    read = word(first, 2 * pe.n_pes)  # (n_pes,) words
    epoch, start, stride = first_round(work, pieces * call.piece_bytes)
    while start < call.nbytes:
        epoch += 1
        arrived = word(first, (epoch & 1) * pe.n_pes)  # (n_pes,) words
        slots = inbox_slots(work, epoch, pieces)
        # All PEs have read the pieces that this epoch's pieces overwrite.
        wait_all(pe.ctx, read, untag_epoch(work, epoch - 2), pe.me, pe.n_pes)
        if pe.me == call.root:
            for j in range(pieces):
                low = start + j * call.piece_bytes
                put(pe.ctx, slot_at(slots, j), call.src + low, piece_nbytes(call, low), peer(pe, j + 1))
            signal_all(pe.ctx, arrived, epoch, pe.me, pe.n_pes)
        else:
            for k in range(pe.n_pes):  # this PE's piece first, then the pieces of the PEs after it
                source = peer(pe, k)
                if source != call.root:
                    j = distance(pe, call.root, source) - 1
                    low, slot = start + j * call.piece_bytes, slot_at(slots, j)
                    nbytes = piece_nbytes(call, low)
                    if k == 0:
                        wait(pe.ctx, word(arrived, call.root), epoch, call.root)
                        pass_on(pe, slot, nbytes, call.root)
                        if pe.n_pes > 2:
                            signal_all(pe.ctx, arrived, epoch, pe.me, pe.n_pes)
                    else:
                        wait(pe.ctx, word(arrived, source), epoch, source)
                    copy(call.out + low, slot, nbytes)
        signal_all(pe.ctx, read, untag_epoch(work, epoch), pe.me, pe.n_pes)
        start += stride
    store_epoch(work, epoch)


ALGORITHM = piece_algorithm(spread, slots=per_peer(1), signals=per_pe(3), shares=per_peer(1))
