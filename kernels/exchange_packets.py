"""Every PE sends a row to each other PE, in packets: what AllGather and all-to-all share."""

from .algorithm import PACKET_BYTES
from .block import all_to_all_packets, block, blocks
from .records import PE, Transfer, Work
from .steps import buffer, finish_epoch, last_epoch, piece_nbytes, slot


def exchange_packets(pe: PE, call: Transfer, work: Work, src_stride_bytes: int) -> None:
    """out (n_pes, nbytes) = the row that each PE has for this one: row p of its src is for PE p.

    src_stride_bytes: from one row of src to the next; 0: one row for all PEs
    inbox (blocks, 2 buffers), a buffer holds (n_pes sources) slots of packets
    """
    slot_bytes = slot(work.buffer_bytes, pe.n_pes, PACKET_BYTES)
    epoch = last_epoch(work)
    start = block() * call.piece_bytes
    while start < call.nbytes:
        epoch += 1
        # All PEs' packets of epoch e+1 prove that all have read epoch e: two buffers are enough.
        slots = work.inbox + buffer(work, epoch)
        out, src, nbytes = call.out + start, call.src + start, piece_nbytes(call, start)
        all_to_all_packets(
            pe.ctx, out, call.nbytes, src, src_stride_bytes, slots, slot_bytes, nbytes, epoch, pe.me, pe.n_pes
        )
        start += blocks() * call.piece_bytes
    finish_epoch(work, epoch)
