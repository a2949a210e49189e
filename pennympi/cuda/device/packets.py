"""Packets: 128-byte lines whose last 8 bytes hold the epoch, on a GPU.

Eight threads write a line by one 16-byte store each, in one instruction of
their warp; NVLink delivers the line at once, so a thread that sees the epoch
sees the 120 bytes before it.  This is the LL128 protocol of NCCL, and like it
needs NVLink (or one device).
"""

from ...compile.context import ROUNDS
from ...kernels.block import POISON
from ..compiler.gpu import cuda
from .intrinsics import store_word
from .packet_data import own_pair, padded, store_part
from .pointers import at
from .stubs import (
    ALIGNED,
    ITEM_BYTES,
    TAGGED,
    TOGETHER,
    add,
    begin,
    end,
    end_plus,
    fold,
    fold_plus,
    missing,
    pair_of,
    plus_pair,
    poll_all,
)
from .waits import GAVE_UP, SPINS, check_wait, give_up, poisoned, report_wait
from .words import poll_pair, send_pair

ALL = 0xFFFFFFFF


def send_part(to, i, pair, epoch):
    """Part ``i`` of a line to its place in the slot at ``to``; the last part of a line holds the epoch."""
    second = epoch if (i & 7) == 7 else pair[1]
    cuda.syncwarp(ALL)  # all lanes store the line in one instruction
    send_pair(to + i * 16, pair[0], second)


def send_packets(ctx, slot, src, nbytes, epoch, pe):
    to = at(ctx, slot, pe)
    epoch = poisoned(ctx, epoch)
    parts = padded(nbytes)
    step = cuda.blockDim.x
    i = cuda.threadIdx.x
    while i < parts:
        pair = own_pair(src, i, nbytes)
        following = (0, 0)
        if not ALIGNED and i + step < parts:  # loads at any address take longer: two are under way
            following = own_pair(src, i + step, nbytes)
        send_part(to, i, pair, epoch)
        if not ALIGNED:
            i += step
            if i < parts:
                send_part(to, i, following, epoch)
        i += step


def lost(ctx, waiting, failed, found, epoch, source):
    """True in all lanes if a lane that is ``waiting`` for PE ``source`` gives up: because its wait has ``failed``, or it
    found poison, or the epoch of another call in this round.

    Then all lanes store GAVE_UP, so that each of them sees it, and marks the garbage that it sends as poison.
    """
    own = waiting & (failed | (found >= POISON) | (TAGGED and (found - epoch) & ROUNDS == 0))
    if not cuda.any_sync(ALL, own):
        return False
    if own:
        give_up(ctx, found, epoch, source)
    store_word(ctx + GAVE_UP, POISON)
    return True


def take(ctx, slot, i, epoch, source):
    """Part ``i`` of the lines in ``slot``, once its line is of this epoch.

    A test for equality is enough: the other buffer holds the lines of the epoch before, and no PE sends epoch + 2 before
    this epoch has been read.  Poison and epochs of other calls are unequal, too: the slow path looks for them.
    """
    spins = 0
    since_ns = 0
    while True:
        cuda.syncwarp(ALL)  # all lanes read the line in one instruction: a lane that read early would keep old data
        pair = poll_pair(slot + i * 16)
        if cuda.all_sync(ALL, (i & 7) != 7 or pair[1] == epoch):
            return pair
        spins += 1
        if spins % SPINS == 0:
            since_ns, failed = check_wait(ctx, source, since_ns)
            report_wait(ctx, source)
            if lost(ctx, (i & 7) == 7 and pair[1] != epoch, failed, pair[1], epoch, source):
                return pair


def take_all(ctx, slots, slot_bytes, i, epoch, me):
    """Part ``i`` of the lines in every other PE's slot, once they all are of this epoch."""
    spins = 0
    since_ns = 0
    while True:
        cuda.syncwarp(ALL)
        pairs = poll_all(slots + i * 16, slot_bytes, me)
        if cuda.all_sync(ALL, (i & 7) != 7 or missing(pairs, epoch, me) < 0):
            return pairs
        spins += 1
        if spins % SPINS == 0:
            source = -1
            if (i & 7) == 7:
                source = missing(pairs, epoch, me)
            since_ns, failed = check_wait(ctx, source, since_ns)
            if source >= 0:
                report_wait(ctx, source)
            if lost(ctx, source >= 0, failed, pair_of(pairs, source)[1], epoch, source):
                return pairs


def receive_packets(ctx, dst, slot, nbytes, epoch, source):
    parts = padded(nbytes)
    i = cuda.threadIdx.x
    while i < parts:
        store_part(dst, i, nbytes, take(ctx, slot, i, epoch, source))
        i += cuda.blockDim.x
    cuda.syncthreads()


def receive_plus(ctx, dst, slot, residual, count, epoch, source):
    nbytes = count * ITEM_BYTES
    parts = padded(nbytes)
    i = cuda.threadIdx.x
    while i < parts:
        rest = own_pair(residual, i, nbytes)
        store_part(dst, i, nbytes, plus_pair(take(ctx, slot, i, epoch, source), rest))
        i += cuda.blockDim.x
    cuda.syncthreads()


def sum_of(ctx, slots, slot_bytes, own, i, nbytes, epoch, me, n_pes, residual):
    """Part ``i`` of the result: this PE's ``own`` and the others' as they arrive, in the PEs' order, and the residual."""
    rest = (0, 0)
    if residual != 0:
        rest = own_pair(residual, i, nbytes)
    if TOGETHER:
        pairs = take_all(ctx, slots, slot_bytes, i, epoch, me)
        if residual != 0:
            return fold_plus(pairs, own, me, rest)
        return fold(pairs, own, me)
    pair = own
    if me != 0:
        pair = take(ctx, slots, i, epoch, 0)
    partials = begin(pair)
    for pe in range(1, n_pes):
        pair = own
        if pe != me:
            pair = take(ctx, slots + pe * slot_bytes, i, epoch, pe)
        partials = add(partials, pair)
    if residual != 0:
        return end_plus(partials, n_pes, rest)
    return end(partials, n_pes)


def combine_packets(ctx, out, slots, slot_bytes, src, count, epoch, scratch, me, n_pes):
    nbytes = count * ITEM_BYTES
    parts = padded(nbytes)
    i = cuda.threadIdx.x
    while i < parts:
        own = own_pair(src, i, nbytes)
        store_part(out, i, nbytes, sum_of(ctx, slots, slot_bytes, own, i, nbytes, epoch, me, n_pes, 0))
        i += cuda.blockDim.x
    cuda.syncthreads()


def reduce_forward_packets(ctx, out, slots, reduced, slot_bytes, src, count, epoch, scratch, me, n_pes, residual=0):
    nbytes = count * ITEM_BYTES
    parts = padded(nbytes)
    i = cuda.threadIdx.x
    while i < parts:
        own = own_pair(src, i, nbytes)
        pair = sum_of(ctx, slots, slot_bytes, own, i, nbytes, epoch, me, n_pes, 0)
        send_rows(ctx, reduced, slot_bytes, out, 0, pair, i, nbytes, epoch, me, n_pes)
        if residual != 0:
            pair = plus_pair(pair, own_pair(residual, i, nbytes))
        store_part(out, i, nbytes, pair)
        i += cuda.blockDim.x
    cuda.syncthreads()


def send_rows(ctx, slots, slot_bytes, src, src_stride, own, i, nbytes, epoch, me, n_pes):
    """Part ``i`` of each row of src to its PE; all rows are this PE's ``own`` where the stride is 0."""
    epoch = poisoned(ctx, epoch)
    for k in range(1, n_pes):
        pe = (me + k) % n_pes
        pair = own
        if src_stride != 0:
            pair = own_pair(src + pe * src_stride, i, nbytes)
        send_part(at(ctx, slots + me * slot_bytes, pe), i, pair, epoch)


def all_to_all_packets(ctx, out, out_stride, src, src_stride, slots, slot_bytes, nbytes, epoch, me, n_pes):
    parts = padded(nbytes)
    step = cuda.blockDim.x
    own_src = src + me * src_stride
    own_out = out + me * out_stride
    # A thread sends its next part before it takes the last one.
    i = cuda.threadIdx.x
    sent = i
    while i < parts:
        while sent <= i + step and sent < parts:
            own = own_pair(own_src, sent, nbytes)
            send_rows(ctx, slots, slot_bytes, src, src_stride, own, sent, nbytes, epoch, me, n_pes)
            if own_out != own_src:
                store_part(own_out, sent, nbytes, own)
            sent += step
        if TOGETHER:
            pairs = take_all(ctx, slots, slot_bytes, i, epoch, me)
            for pe in range(n_pes):
                if pe != me:
                    store_part(out + pe * out_stride, i, nbytes, pair_of(pairs, pe))
        else:
            for k in range(1, n_pes):
                pe = (me + k) % n_pes
                store_part(out + pe * out_stride, i, nbytes, take(ctx, slots + pe * slot_bytes, i, epoch, pe))
        i += step
    cuda.syncthreads()


def exchange_reduce_packets(ctx, out, slots, slot_bytes, src, count, epoch, scratch, me, n_pes, src_stride=0, residual=0):
    nbytes = count * ITEM_BYTES
    parts = padded(nbytes)
    step = cuda.blockDim.x
    own_src = src + me * src_stride
    # Two parts of a thread are under way: it sends the next but one before it adds up the oldest.
    i = cuda.threadIdx.x
    oldest = (0, 0)
    newer = (0, 0)
    if i < parts:
        oldest = own_pair(own_src, i, nbytes)
        send_rows(ctx, slots, slot_bytes, src, src_stride, oldest, i, nbytes, epoch, me, n_pes)
    if i + step < parts:
        newer = own_pair(own_src, i + step, nbytes)
        send_rows(ctx, slots, slot_bytes, src, src_stride, newer, i + step, nbytes, epoch, me, n_pes)
    while i < parts:
        next_but_one = i + 2 * step
        newest = (0, 0)
        if next_but_one < parts:
            newest = own_pair(own_src, next_but_one, nbytes)
            send_rows(ctx, slots, slot_bytes, src, src_stride, newest, next_but_one, nbytes, epoch, me, n_pes)
        pair = sum_of(ctx, slots, slot_bytes, oldest, i, nbytes, epoch, me, n_pes, residual)
        store_part(out, i, nbytes, pair)
        oldest = newer
        newer = newest
        i += step
    cuda.syncthreads()
