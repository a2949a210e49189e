"""Sums of the elements in this PE's slots, and packets, on a CPU.

On a CPU a slot of packets has one epoch, which lies before the data and is stored last.
"""

from ...compile import context as ctx_words
from ...kernels import slots
from ...kernels.records import Message, Piece, Slots
from .intrinsics import call, copy_bytes, load_word
from .numba_cpu import device_function
from .primitives import implementation, put, put_signal
from .waits import wait_tagged

HEAD_BYTES = 16  # bytes of a slot's head: the epoch, and alignment
STRIP_ELEMS = 8192  # number of elements that are added up at a time, so that the partials stay in the cache


slot_at = device_function(slots.slot_at)


@device_function
def peer(pe, k):
    """The k-th PE after this PE."""
    return (pe.me + k) % pe.n_pes


@device_function
def addend(piece, slots, source, me):
    """Address of the elements of PE ``source``: its slot, or this PE's src."""
    return piece.src if source == me else slot_at(slots, source)


@implementation
def combine(pe, piece, slots, scratch):
    ctx, me, n_pes = pe
    to_partials = load_word(ctx + 8 * ctx_words.TO_PARTIALS)
    reduce = load_word(ctx + 8 * ctx_words.REDUCE)
    reduce_and_round = load_word(ctx + 8 * ctx_words.REDUCE_AND_ROUND)
    item_bytes, acc_bytes = load_word(ctx + 8 * ctx_words.ITEM_BYTES), load_word(ctx + 8 * ctx_words.ACC_BYTES)
    for low in range(0, piece.n_elems, STRIP_ELEMS):
        n = min(STRIP_ELEMS, piece.n_elems - low)
        skip = low * item_bytes
        part = addend(piece, slots, 0, me) + skip
        if item_bytes != acc_bytes:
            call(to_partials, ctx, scratch, 0, part, n)
            part = scratch
        for source in range(1, n_pes - 1):
            call(reduce, ctx, scratch, part, addend(piece, slots, source, me) + skip, n)
            part = scratch
        last = addend(piece, slots, n_pes - 1, me) + skip
        if piece.residual != 0:
            call(load_word(ctx + 8 * ctx_words.REDUCE_AND_DIVIDE), ctx, scratch, part, last, n)
            call(load_word(ctx + 8 * ctx_words.ADD_RESIDUAL), ctx, piece.out + skip, scratch, piece.residual + skip, n)
        else:
            call(reduce_and_round, ctx, piece.out + skip, part, last, n)


@device_function
def without_residual(piece, out):
    """The piece without its residual, with ``out`` for the result."""
    return Piece(out, piece.src, 0, piece.n_elems, piece.nbytes)


@implementation
def combine_put(pe, piece, slot, slots, scratch):
    combine(pe, without_residual(piece, piece.out), slots, scratch)
    for k in range(1, pe.n_pes):
        put(pe.ctx, slot, piece.out, piece.nbytes, peer(pe, k))


@implementation
def plus(ctx, dst, x, y, count):
    call(load_word(ctx + 8 * ctx_words.PLUS), ctx, dst, x, y, count)


@implementation
def send_packets(ctx, message, epoch):
    slot, src, nbytes, pe = message
    put_signal(ctx, Message(slot + HEAD_BYTES, src, nbytes, pe), slot, epoch)


@implementation
def receive_packets(ctx, message, epoch):
    dst, slot, nbytes, source = message
    wait_tagged(ctx, slot, epoch, source)
    copy_bytes(dst, slot + HEAD_BYTES, nbytes)


@implementation
def receive_plus(ctx, piece, slot, epoch, source):
    wait_tagged(ctx, slot, epoch, source)
    plus(ctx, piece.out, slot + HEAD_BYTES, piece.residual, piece.n_elems)


@implementation
def combine_packets(pe, piece, incoming, scratch):
    for k in range(1, pe.n_pes):
        source = peer(pe, k)
        wait_tagged(pe.ctx, slot_at(incoming.slots, source), incoming.epoch, source)
    combine(pe, piece, Slots(incoming.slots.address + HEAD_BYTES, incoming.slots.nbytes), scratch)


@implementation
def reduce_forward_packets(pe, piece, incoming, reduced, scratch):
    result, slot_bytes = piece.out, incoming.slots.nbytes
    if piece.residual != 0:
        result = slot_at(incoming.slots, pe.me)  # the slot that no peer writes
    combine_packets(pe, without_residual(piece, result), incoming, scratch)
    for k in range(1, pe.n_pes):
        message = Message(reduced + pe.me * slot_bytes, result, piece.nbytes, peer(pe, k))
        send_packets(pe.ctx, message, incoming.epoch)
    if piece.residual != 0:
        plus(pe.ctx, piece.out, result, piece.residual, piece.n_elems)


@device_function
def send_rows(pe, src, src_stride, nbytes, incoming):
    """Send to every other PE its row of src."""
    for k in range(1, pe.n_pes):
        to = peer(pe, k)
        message = Message(slot_at(incoming.slots, pe.me), src + to * src_stride, nbytes, to)
        send_packets(pe.ctx, message, incoming.epoch)


@implementation
def exchange_reduce_packets(pe, piece, src_stride, incoming, scratch):
    send_rows(pe, piece.src, src_stride, piece.nbytes, incoming)
    rows_piece = Piece(piece.out, piece.src + pe.me * src_stride, piece.residual, piece.n_elems, piece.nbytes)
    combine_packets(pe, rows_piece, incoming, scratch)


@implementation
def all_to_all_packets(pe, rows, incoming):
    send_rows(pe, rows.src, rows.src_stride, rows.nbytes, incoming)
    copy_bytes(rows.out + pe.me * rows.out_stride, rows.src + pe.me * rows.src_stride, rows.nbytes)
    for k in range(1, pe.n_pes):
        source = peer(pe, k)
        slot, to = slot_at(incoming.slots, source), rows.out + source * rows.out_stride
        receive_packets(pe.ctx, Message(to, slot, rows.nbytes, source), incoming.epoch)
