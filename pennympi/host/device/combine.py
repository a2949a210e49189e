"""Adding up what all PEs have put into this PE's slots, and packets, on a CPU.

Packets on a CPU have one epoch a slot: the epoch lies before the data and is stored last.
"""

from ...compile import context as ctx_words
from .intrinsics import call, copy_bytes, load_word
from .numba_cpu import device_function
from .primitives import implementation, put, put_signal
from .waits import wait_tagged

HEAD_BYTES = 16  # of a slot: the epoch, and alignment
STRIP_ELEMS = 8192  # added up at a time, so that the partials stay in the cache


@device_function
def piece_of(slots, slot_bytes, src, pe, me):
    """Address of PE pe's piece: in its slot, or this PE's own."""
    return src if pe == me else slots + pe * slot_bytes


@implementation
def combine(ctx, out, slots, slot_bytes, src, count, scratch, me, n_pes, residual=0):
    to_partials = load_word(ctx + 8 * ctx_words.TO_PARTIALS)
    reduce = load_word(ctx + 8 * ctx_words.REDUCE)
    reduce_and_round = load_word(ctx + 8 * ctx_words.REDUCE_AND_ROUND)
    item_bytes, acc_bytes = load_word(ctx + 8 * ctx_words.ITEM_BYTES), load_word(ctx + 8 * ctx_words.ACC_BYTES)
    for low in range(0, count, STRIP_ELEMS):
        n = min(STRIP_ELEMS, count - low)
        skip = low * item_bytes
        part = piece_of(slots, slot_bytes, src, 0, me) + skip
        if item_bytes != acc_bytes:
            call(to_partials, ctx, scratch, 0, part, n)
            part = scratch
        for pe in range(1, n_pes - 1):
            call(reduce, ctx, scratch, part, piece_of(slots, slot_bytes, src, pe, me) + skip, n)
            part = scratch
        last = piece_of(slots, slot_bytes, src, n_pes - 1, me) + skip
        if residual != 0:
            call(load_word(ctx + 8 * ctx_words.CLOSE), ctx, scratch, part, last, n)
            call(load_word(ctx + 8 * ctx_words.LAST), ctx, out + skip, scratch, residual + skip, n)
        else:
            call(reduce_and_round, ctx, out + skip, part, last, n)


@implementation
def combine_put(ctx, out, there, slots, slot_bytes, src, count, scratch, me, n_pes):
    combine(ctx, out, slots, slot_bytes, src, count, scratch, me, n_pes)
    for k in range(1, n_pes):
        put(ctx, there, out, count * load_word(ctx + 8 * ctx_words.ITEM_BYTES), (me + k) % n_pes)


@implementation
def plus(ctx, dst, x, y, count):
    call(load_word(ctx + 8 * ctx_words.PLUS), ctx, dst, x, y, count)


@implementation
def send_packets(ctx, slot, src, nbytes, epoch, pe):
    put_signal(ctx, slot + HEAD_BYTES, src, nbytes, slot, epoch, pe)


@implementation
def receive_packets(ctx, dst, slot, nbytes, epoch, source):
    wait_tagged(ctx, slot, epoch, source)
    copy_bytes(dst, slot + HEAD_BYTES, nbytes)


@implementation
def receive_plus(ctx, dst, slot, residual, count, epoch, source):
    wait_tagged(ctx, slot, epoch, source)
    plus(ctx, dst, slot + HEAD_BYTES, residual, count)


@implementation
def combine_packets(ctx, out, slots, slot_bytes, src, count, epoch, scratch, me, n_pes, residual=0):
    for k in range(1, n_pes):
        pe = (me + k) % n_pes
        wait_tagged(ctx, slots + pe * slot_bytes, epoch, pe)
    combine(ctx, out, slots + HEAD_BYTES, slot_bytes, src, count, scratch, me, n_pes, residual)


@implementation
def reduce_forward_packets(
    ctx, out, slots, reduced, slot_bytes, src, count, epoch, scratch, me, n_pes, residual=0, added=0
):
    result = out
    if residual != 0:
        result = slots + me * slot_bytes  # which no peer writes
    combine_packets(ctx, result, slots, slot_bytes, src, count, epoch, scratch, me, n_pes, added)
    nbytes = count * load_word(ctx + 8 * ctx_words.ITEM_BYTES)
    for k in range(1, n_pes):
        send_packets(ctx, reduced + me * slot_bytes, result, nbytes, epoch, (me + k) % n_pes)
    if residual != 0:
        plus(ctx, out, result, residual, count)


@implementation
def exchange_reduce_packets(ctx, out, slots, slot_bytes, src, count, epoch, scratch, me, n_pes, src_stride=0, residual=0):
    nbytes = count * load_word(ctx + 8 * ctx_words.ITEM_BYTES)
    for k in range(1, n_pes):
        pe = (me + k) % n_pes
        send_packets(ctx, slots + me * slot_bytes, src + pe * src_stride, nbytes, epoch, pe)
    combine_packets(ctx, out, slots, slot_bytes, src + me * src_stride, count, epoch, scratch, me, n_pes, residual)


@implementation
def all_to_all_packets(ctx, out, out_stride, src, src_stride, slots, slot_bytes, nbytes, epoch, me, n_pes):
    for k in range(1, n_pes):
        pe = (me + k) % n_pes
        send_packets(ctx, slots + me * slot_bytes, src + pe * src_stride, nbytes, epoch, pe)
    copy_bytes(out + me * out_stride, src + me * src_stride, nbytes)
    for k in range(1, n_pes):
        pe = (me + k) % n_pes
        receive_packets(ctx, out + pe * out_stride, slots + pe * slot_bytes, nbytes, epoch, pe)
