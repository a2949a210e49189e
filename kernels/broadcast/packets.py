"""Broadcast by packets: the root sends the vector to each other PE, without a barrier; one latency step.

Source: the LL128 protocol of NCCL.  The root sends the vector n-1 times.
"""

from ..algorithm import per_pe
from ..block import receive_packets, send_packets, signal_all, wait_all
from ..plans import packet_algorithm
from ..records import PE, Message, Transfer, Work
from ..slots import block_words, inbox_of
from ..steps import first_round, peer, piece_nbytes, store_epoch, untag_epoch


def packets(pe: PE, call: Transfer, work: Work):
    """out (nbytes,) = src (nbytes,) of PE root; out is src.

    inbox   (blocks, 2 buffers), a buffer is a slot of packets
    signals (blocks, n_pes) words: the last epoch that a PE has read, or does not need
    """
    read = block_words(work, pe.n_pes)
    epoch, start, stride = first_round(work, call.piece_bytes)
    while start < call.nbytes:
        epoch += 1
        slot = inbox_of(work, epoch)
        nbytes = piece_nbytes(call, start)
        if pe.me == call.root:
            # These packets overwrite those of epoch e-2, which all PEs must have read.
            wait_all(pe.ctx, read, untag_epoch(work, epoch - 2), pe.me, pe.n_pes)
            for k in range(1, pe.n_pes):
                send_packets(pe.ctx, Message(slot, call.src + start, nbytes, peer(pe, k)), epoch)
        else:
            receive_packets(pe.ctx, Message(call.out + start, slot, nbytes, call.root), epoch)
            # All PEs get this signal, as another PE may be the root of the next call.
            signal_all(pe.ctx, read, untag_epoch(work, epoch), pe.me, pe.n_pes)
        start += stride
    if pe.me == call.root:
        signal_all(pe.ctx, read, untag_epoch(work, epoch), pe.me, pe.n_pes)
    store_epoch(work, epoch)


ALGORITHM = packet_algorithm(packets, slots=lambda topology, limits: 1, signals=per_pe(1))
