"""Every PE sends a row to each other PE, by puts or by packets: the kernels of AllGather and all-to-all."""

from typing import NamedTuple

from .block import POISON, all_to_all_packets, copy, put, read_epoch, signal_all, wait_all
from .records import PE, PacketRows, Packets, Transfer, Work
from .slots import block_words, half_buffer_slots, packet_slots, slot_at, word
from .steps import fence_signal_all, first_round, peer, piece_nbytes, store_epoch

BY_INBOX = 2  # number of a block's pieces that go through the inbox before later pieces go straight to out
SIGNALS = 2  # signal words of a block for each PE


class RowPlaces(NamedTuple):
    """The source and the destinations of rows.

    stride_bytes: bytes from a row of src to the next row, or ONE_ROW
    inbox:        address of the inbox
    out_offsets:  address of (n_pes,) words: bytes from a PE's inbox to its out, or 0 if peers may not write its out.
                  Address 0: all rows go to the inbox
    """

    stride_bytes: int
    inbox: int
    out_offsets: int


def put_rows(pe: PE, call: Transfer, rows: RowPlaces, start: int, slot: int) -> None:
    """Put to every other PE the piece of its row at byte ``start``, to its out or, without an offset, to ``slot``."""
    nbytes = piece_nbytes(call, start)
    for k in range(1, pe.n_pes):
        to, dst = peer(pe, k), slot
        if rows.out_offsets:
            out_offset = read_epoch(rows.out_offsets, to)
            if out_offset != 0 and out_offset < POISON:
                dst = rows.inbox + out_offset + pe.me * call.nbytes + start
        put(pe.ctx, dst, call.src + to * rows.stride_bytes + start, nbytes, to)


def exchange_rows(pe: PE, call: Transfer, work: Work, src_stride_bytes: int) -> None:
    """Row p of out (n_pes, nbytes) = row ``me`` of src of PE p.
    The first pieces of a block go through the inbox, since their arrival shows that the sender's call has begun.  Later
    pieces go straight into the peer's out, if a signal word holds its offset.

    src_stride_bytes: bytes from a row of src to the next row, or ONE_ROW

    inbox   (blocks, 4 half buffers), a half buffer holds (n_pes sources,) slots
    signals (blocks, 2, n_pes) words: a source's piece has arrived; offset of a PE's out
    """
    arrived = block_words(work, SIGNALS * pe.n_pes)  # (n_pes,) words
    out_offsets = word(arrived, pe.n_pes)  # (n_pes,) words: see ``RowPlaces``
    own_src, own_out = call.src + pe.me * src_stride_bytes, call.out + pe.me * call.nbytes
    epoch, start, stride = first_round(work, call.piece_bytes)
    by_inbox = epoch + BY_INBOX
    if start + BY_INBOX * stride < call.nbytes:
        # A peer reads the words of the previous call until it has sent its last piece, which this PE has received.
        signal_all(pe.ctx, out_offsets, call.out - work.inbox if call.out_is_symmetric else 0, pe.me, pe.n_pes)
    if start < call.nbytes:
        slots = half_buffer_slots(work, epoch + 1, pe.n_pes)
        put_rows(pe, call, RowPlaces(src_stride_bytes, work.inbox, 0), start, slot_at(slots, pe.me))
        fence_signal_all(pe, arrived, epoch + 1)
    while start < call.nbytes:
        epoch, following = epoch + 1, start + stride
        if following < call.nbytes:
            # From round BY_INBOX on this PE has received every PE's first piece, so their words belong to this call.
            rows = RowPlaces(src_stride_bytes, work.inbox, out_offsets if epoch >= by_inbox else 0)
            slots = half_buffer_slots(work, epoch + 1, pe.n_pes)
            put_rows(pe, call, rows, following, slot_at(slots, pe.me))
        nbytes = piece_nbytes(call, start)
        if own_out != own_src:
            copy(own_out + start, own_src + start, nbytes)
        wait_all(pe.ctx, arrived, epoch, pe.me, pe.n_pes)
        if epoch <= by_inbox or not call.out_is_symmetric:
            slots = half_buffer_slots(work, epoch, pe.n_pes)
            for k in range(1, pe.n_pes):
                source = peer(pe, k)
                copy(call.out + source * call.nbytes + start, slot_at(slots, source), nbytes)
        if following < call.nbytes:
            fence_signal_all(pe, arrived, epoch + 1)
        start = following
    store_epoch(work, epoch)


def exchange_packets(pe: PE, call: Transfer, work: Work, src_stride_bytes: int) -> None:
    """Row p of out (n_pes, nbytes) = row ``me`` of src of PE p.

    src_stride_bytes: bytes from a row of src to the next row, or ONE_ROW
    inbox (blocks, 2 buffers), a buffer holds (n_pes sources,) slots of packets
    """
    epoch, start, stride = first_round(work, call.piece_bytes)
    while start < call.nbytes:
        epoch += 1
        # All PEs have read epoch e when their packets of epoch e+1 have arrived: two buffers suffice.
        slots = packet_slots(work, epoch, pe.n_pes)
        nbytes = piece_nbytes(call, start)
        rows = PacketRows(call.out + start, call.src + start, call.nbytes, src_stride_bytes, nbytes)
        all_to_all_packets(pe, rows, Packets(slots, epoch))
        start += stride
    store_epoch(work, epoch)
