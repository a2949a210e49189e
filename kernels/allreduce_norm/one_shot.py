"""One-shot AllReduce of whole rows by signals, and their RMSNorm behind it: for any links, between hosts too."""

from dataclasses import replace

from ..algorithm import Limits, Place, Plan, row_plan
from ..allreduce.one_shot import ALGORITHM as SUM
from ..allreduce.one_shot import put_piece
from ..block import combine, wait_all
from ..records import PE, Norm, Reduction, Work
from ..steps import (
    buffer,
    fence_signal_all,
    finish_count,
    first_start,
    last_count,
    piece_inside,
    quarter_slots,
    signed,
    stride_of,
    words,
)
from .rows import normalise, share_from


def sum_share(pe: PE, share: Reduction, work: Work, start: int, count: int) -> int:
    """The totals of a share from element ``start`` on, by rounds behind ``count``; the count of the last."""
    at, scratch = start, work.outbox + buffer(work, 0)
    put_piece(pe, share, work, at, count + 1)
    fence_signal_all(pe, words(work, count + 1, pe.n_pes), signed(work, count + 1))
    while at < share.n_elems:
        count, following = count + 1, at + share.piece_elems
        if following < share.n_elems:
            put_piece(pe, share, work, following, count + 1)
        # A PE's signal of epoch e finds that of e-2 taken: two sets of words are enough.
        wait_all(pe.ctx, words(work, count, pe.n_pes), signed(work, count), pe.me, pe.n_pes)
        own, slots = piece_inside(share, at), quarter_slots(work, count, pe.n_pes)
        total, src = share.out + own.offset_bytes, share.src + own.offset_bytes
        combine(pe.ctx, total, slots.address, slots.nbytes, src, own.n_elems, scratch, pe.me, pe.n_pes, total)
        if following < share.n_elems:
            fence_signal_all(pe, words(work, count + 1, pe.n_pes), signed(work, count + 1))
        at = following
    return count


def one_shot(pe: PE, call: Reduction, norm: Norm, work: Work):
    """residual (n_elems,) = op over all PEs of src (n_elems,), plus residual; out (n_elems,) = its rows, normalised.

    inbox   (blocks, 4 quarters), a quarter holds (n_pes sources,) slots of elements
    outbox  (blocks, 2 buffers): scratch, and (n_pes,) slots that puts start from
    signals (blocks, 2, n_pes sources) words
    """
    count, start, stride = last_count(work), first_start(norm.share_elems), stride_of(norm.share_elems)
    while start < call.n_elems:
        share = share_from(call, norm, start)
        count = sum_share(pe, share, work, start, count)
        normalise(pe.ctx, call, share, norm, start)
        start += stride
    finish_count(work, count)


def plan(count: int, item_bytes: int, acc_bytes: int, place: Place, limits: Limits) -> Plan:
    """See ``row_plan``."""
    return row_plan(count, item_bytes, 1, limits.buffer_bytes // 2 // place.n_pes // item_bytes, limits)


ALGORITHM = replace(SUM, kernel=one_shot, plan=plan)
