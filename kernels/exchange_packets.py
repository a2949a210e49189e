"""Every PE sends a row to each other PE, in packets: what AllGather and all-to-all share."""

from .algorithm import PACKET_BYTES
from .block import all_to_all_packets
from .records import PE, Transfer, Work
from .steps import buffer, finish_epoch, first_start, last_epoch, piece_nbytes, slots_in, stride_of


def exchange_packets(pe: PE, call: Transfer, work: Work, src_stride_bytes: int) -> None:
    """out (n_pes, nbytes) = the row that each PE has for this one: row p of its src is for PE p.

    src_stride_bytes: from one row of src to the next; 0: one row for all PEs
    inbox (blocks, 2 buffers), a buffer holds (n_pes sources,) slots of packets
    """
    epoch, start = last_epoch(work), first_start(call.piece_bytes)
    while start < call.nbytes:
        epoch += 1
        # All PEs' packets of epoch e+1 prove that all have read epoch e: two buffers are enough.
        slots = slots_in(work.inbox + buffer(work, epoch), work.buffer_bytes, pe.n_pes, PACKET_BYTES)
        all_to_all_packets(
            pe.ctx, call.out + start, call.nbytes, call.src + start, src_stride_bytes, slots.address, slots.nbytes,
            piece_nbytes(call, start), epoch, pe.me, pe.n_pes,
        )  # fmt: skip
        start += stride_of(call.piece_bytes)
    finish_epoch(work, epoch)
