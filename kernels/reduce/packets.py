"""Reduce by packets: every PE sends the root its vector, without a barrier; one latency step.

Source: the LL128 protocol of NCCL.  The root receives n-1 vectors.
"""

from ..algorithm import per_pe
from ..block import combine_packets, send_packets, signal_all, wait
from ..plans import packet_algorithm
from ..records import PE, Message, Packets, Reduction, Work
from ..slots import block_words, outbox_of, packet_slots, slot_at, word
from ..steps import first_round, piece, store_epoch, untag_epoch


def packets(pe: PE, call: Reduction, work: Work):
    """On PE root, out (n_elems,) = op over all PEs of src (n_elems,); out may be src.

    inbox   (blocks, 2 buffers), a buffer holds (n_pes sources,) slots of packets
    outbox  (blocks, 2 buffers) is scratch
    signals (blocks, n_pes) words: the last epoch that a PE has read, or does not need
    """
    read = block_words(work, pe.n_pes)
    epoch, start, stride = first_round(work, call.piece_elems)
    while start < call.n_elems:
        epoch += 1
        incoming = Packets(packet_slots(work, epoch, pe.n_pes), epoch)
        scratch = outbox_of(work, epoch)
        own = piece(call, start)
        if pe.me == call.root:
            combine_packets(pe, own, incoming, scratch)
            signal_all(pe.ctx, read, untag_epoch(work, epoch), pe.me, pe.n_pes)
        else:
            # These packets overwrite those of epoch e-2, which the root must have read.
            wait(pe.ctx, word(read, call.root), untag_epoch(work, epoch - 2), call.root)
            send_packets(pe.ctx, Message(slot_at(incoming.slots, pe.me), own.src, own.nbytes, call.root), epoch)
        start += stride
    if pe.me != call.root:
        signal_all(pe.ctx, read, untag_epoch(work, epoch), pe.me, pe.n_pes)  # this PE may be the root of the next call
    store_epoch(work, epoch)


ALGORITHM = packet_algorithm(packets, signals=per_pe(1))
