"""Two-shot AllReduce of whole rows by packets, and their RMSNorm behind it.

In each round of a share a PE adds up one chunk and its residual, which is the same on every PE, rounds the total once and
forwards it; so all PEs have the same totals, and each normalises all rows.
"""

from dataclasses import replace

from ..algorithm import PACKET_BYTES, Limits, Place, Plan, packed_bytes, row_plan
from ..allreduce.two_shot_packets import ALGORITHM as SUM
from ..allreduce.two_shot_packets import receive_reduced, send_parts
from ..block import reduce_forward_packets
from ..records import PE, Norm, Reduction, Work
from ..steps import (
    Slots,
    buffer,
    finish_count,
    first_start,
    last_count,
    piece,
    signed,
    slot_at,
    slots_in,
    stride_of,
)
from .rows import normalise, share_from


def sum_round(pe: PE, share: Reduction, work: Work, at: int, count: int):
    """One round: the totals of n_pes chunks from element ``at`` on."""
    epoch, scratch = signed(work, count), work.outbox + buffer(work, count)
    # A PE's second packets of epoch e+1 prove that it has read all of epoch e: two buffers are enough.
    parts = slots_in(work.inbox + buffer(work, count), work.buffer_bytes, 2 * pe.n_pes, PACKET_BYTES)
    reduced = Slots(slot_at(parts, pe.n_pes), parts.nbytes)  # (n_pes,)
    send_parts(pe, share, at, slot_at(parts, pe.me), epoch)

    own = piece(share, at, pe.me)
    total, src = share.out + own.offset_bytes, share.src + own.offset_bytes
    reduce_forward_packets(
        pe.ctx,
        total,
        parts.address,
        reduced.address,
        parts.nbytes,
        src,
        own.n_elems,
        epoch,
        scratch,
        pe.me,
        pe.n_pes,
        0,
        total,
    )
    receive_reduced(pe, share, at, reduced, epoch)


def two_shot_packets(pe: PE, call: Reduction, norm: Norm, work: Work):
    """residual (n_elems,) = op over all PEs of src (n_elems,), plus residual; out (n_elems,) = its rows, normalised.

    inbox  (blocks, 2 buffers), a buffer holds (2 shots, n_pes sources) slots of packets
    outbox (blocks, 2 buffers) is scratch
    """
    round_elems = pe.n_pes * call.piece_elems
    count, start, stride = last_count(work), first_start(norm.share_elems), stride_of(norm.share_elems)
    while start < call.n_elems:
        share, at = share_from(call, norm, start), start
        while at < share.n_elems:
            count += 1
            sum_round(pe, share, work, at, count)
            at += round_elems
        normalise(pe.ctx, call, share, norm, start)
        start += stride
    finish_count(work, count)


def plan(count: int, item_bytes: int, acc_bytes: int, place: Place, limits: Limits) -> Plan:
    """See ``row_plan``."""
    most_elems = packed_bytes(limits.buffer_bytes // (2 * place.n_pes) // PACKET_BYTES * PACKET_BYTES) // item_bytes
    return row_plan(count, item_bytes, place.n_pes, most_elems, limits)


ALGORITHM = replace(
    SUM, sentence="two hops of packets that carry their epoch, 2 (n-1)/n of the rows", kernel=two_shot_packets, plan=plan
)
