"""One-shot AllReduce of whole rows by packets, and their RMSNorm behind it: one hop, and every PE adds up all rows."""

from dataclasses import replace

from ..algorithm import GROUP_DATA_BYTES, PACKET_BYTES, Limits, Place, Plan, packed_bytes, row_plan, threads_for
from ..allreduce.one_shot_packets import ALGORITHM as SUM
from ..block import exchange_reduce_packets
from ..records import PE, Norm, Reduction, Work
from ..steps import buffer, finish_count, first_start, last_count, piece_inside, signed, slots_in, stride_of
from .rows import normalise, share_from


def one_shot_packets(pe: PE, call: Reduction, norm: Norm, work: Work):
    """residual (n_elems,) = op over all PEs of src (n_elems,), plus residual; out (n_elems,) = its rows, normalised.

    inbox  (blocks, 2 buffers), a buffer holds (n_pes sources,) slots of packets
    outbox (blocks, 2 buffers) is scratch
    """
    count, start, stride = last_count(work), first_start(norm.share_elems), stride_of(norm.share_elems)
    while start < call.n_elems:
        share, at = share_from(call, norm, start), start
        while at < share.n_elems:
            count += 1
            # All PEs' packets of epoch e+1 prove that all have read epoch e: two buffers are enough.
            slots = slots_in(work.inbox + buffer(work, count), work.buffer_bytes, pe.n_pes, PACKET_BYTES)
            own, scratch = piece_inside(share, at), work.outbox + buffer(work, count)
            total, src = share.out + own.offset_bytes, share.src + own.offset_bytes
            epoch = signed(work, count)
            exchange_reduce_packets(
                pe.ctx, total, slots.address, slots.nbytes, src, own.n_elems, epoch, scratch, pe.me, pe.n_pes, 0, total
            )
            at += call.piece_elems
        normalise(pe.ctx, call, share, norm, start)
        start += stride
    finish_count(work, count)


def plan(count: int, item_bytes: int, acc_bytes: int, place: Place, limits: Limits) -> Plan:
    """See ``row_plan``; the warps of a block have as many groups of packets as one another."""
    most_elems = packed_bytes(limits.buffer_bytes // place.n_pes // PACKET_BYTES * PACKET_BYTES) // item_bytes
    rows = row_plan(count, item_bytes, 1, most_elems, limits)
    return replace(rows, threads=threads_for(-(-rows.piece_elems * item_bytes // GROUP_DATA_BYTES)))


ALGORITHM = replace(
    SUM, sentence="everything to everybody in packets that carry their epoch; one hop", kernel=one_shot_packets, plan=plan
)
