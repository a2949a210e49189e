"""Packets: 128-byte lines whose last 8 bytes hold the epoch, on a GPU.

Eight threads write a line by a 16-byte store each, in one instruction of their warp.  NVLink delivers the line as a
whole, so a thread that sees the epoch sees the 120 bytes before it.  This is the LL128 protocol of NCCL, which needs
NVLink (or one device).
"""

from ...compile.context import ROUNDS
from ...kernels.block import POISON
from ...kernels.records import ONE_ROW, PacketRows, Packets, Slots
from ...kernels.slots import slot_at
from ..compiler.gpu import cuda
from .intrinsics import store_word
from .packet_data import own_pair, padded, store_part
from .pointers import peer_address
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


def send_part(slot, i, pair, epoch):
    """Send part ``i`` of the lines to a slot at this address; the last part of a line holds the epoch."""
    second = epoch if (i & 7) == 7 else pair[1]
    cuda.syncwarp(ALL)  # all lanes store the line in one instruction
    send_pair(slot + i * 16, pair[0], second)


def send_packets(ctx, message, epoch):
    slot, src, nbytes, pe = message
    peer_slot = peer_address(ctx, slot, pe)
    epoch = poisoned(ctx, epoch)
    parts = padded(nbytes)
    step = cuda.blockDim.x
    i = cuda.threadIdx.x
    while i < parts:
        pair = own_pair(src, i, nbytes)
        following = (0, 0)
        if not ALIGNED and i + step < parts:  # loads at any address take longer: two are under way
            following = own_pair(src, i + step, nbytes)
        send_part(peer_slot, i, pair, epoch)
        if not ALIGNED:
            i += step
            if i < parts:
                send_part(peer_slot, i, following, epoch)
        i += step


def lost(ctx, waiting, failed, content, epoch, source):
    """True in all lanes if a lane that is ``waiting`` for PE ``source`` gives up: its wait has ``failed``, or the word
    holds poison, or an epoch of another call in this round.

    Then all lanes store GAVE_UP, so that each lane sees it, and sends poison from then on.
    """
    gives_up = waiting & (failed | (content >= POISON) | (TAGGED and (content - epoch) & ROUNDS == 0))
    if not cuda.any_sync(ALL, gives_up):
        return False
    if gives_up:
        give_up(ctx, content, epoch, source)
    store_word(ctx + GAVE_UP, POISON)
    return True


def take(ctx, slot, i, epoch, source):
    """Wait until the line of part ``i`` in ``slot`` has this epoch.  Returns the part.

    A test for equality suffices: the lines of epoch - 1 are in the other buffer, and no PE sends epoch + 2 before this
    epoch has been read.  Poison and epochs of other calls are unequal, too: the slow path looks for them.
    """
    spins = 0
    since_ns = 0
    while True:
        cuda.syncwarp(ALL)  # all lanes read the line in one instruction: a lane that reads earlier would keep old data
        pair = poll_pair(slot + i * 16)
        if cuda.all_sync(ALL, (i & 7) != 7 or pair[1] == epoch):
            return pair
        spins += 1
        if spins % SPINS == 0:
            since_ns, failed = check_wait(ctx, source, since_ns)
            report_wait(ctx, source)
            if lost(ctx, (i & 7) == 7 and pair[1] != epoch, failed, pair[1], epoch, source):
                return pair


def take_all(pe, incoming, i):
    """Wait until the lines of part ``i`` in all other PEs' slots have this epoch.  Returns the parts."""
    ctx, me, _ = pe
    slots, epoch = incoming
    spins = 0
    since_ns = 0
    while True:
        cuda.syncwarp(ALL)
        pairs = poll_all(slots.address + i * 16, slots.nbytes, me)
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


def receive_packets(ctx, message, epoch):
    dst, slot, nbytes, source = message
    parts = padded(nbytes)
    i = cuda.threadIdx.x
    while i < parts:
        store_part(dst, i, nbytes, take(ctx, slot, i, epoch, source))
        i += cuda.blockDim.x
    cuda.syncthreads()


def receive_plus(ctx, piece, slot, epoch, source):
    nbytes = piece.n_elems * ITEM_BYTES
    parts = padded(nbytes)
    i = cuda.threadIdx.x
    while i < parts:
        addend = own_pair(piece.residual, i, nbytes)
        store_part(piece.out, i, nbytes, plus_pair(take(ctx, slot, i, epoch, source), addend))
        i += cuda.blockDim.x
    cuda.syncthreads()


def sum_of(pe, residual, incoming, own, i):
    """Part ``i`` of the result: the sum of all PEs' parts in the PEs' order, and the residual.

    own:      part ``i`` of this PE
    residual: (address, nbytes); address 0: none
    """
    ctx, me, n_pes = pe
    slots, epoch = incoming
    addend = (0, 0)
    if residual[0] != 0:
        addend = own_pair(residual[0], i, residual[1])
    if TOGETHER:
        pairs = take_all(pe, incoming, i)
        if residual[0] != 0:
            return fold_plus(pairs, own, me, addend)
        return fold(pairs, own, me)
    pair = own
    if me != 0:
        pair = take(ctx, slots.address, i, epoch, 0)
    partials = begin(pair)
    for source in range(1, n_pes):
        pair = own
        if source != me:
            pair = take(ctx, slot_at(slots, source), i, epoch, source)
        partials = add(partials, pair)
    if residual[0] != 0:
        return end_plus(partials, n_pes, addend)
    return end(partials, n_pes)


def combine_packets(pe, piece, incoming, scratch):
    nbytes = piece.n_elems * ITEM_BYTES
    parts = padded(nbytes)
    i = cuda.threadIdx.x
    while i < parts:
        own = own_pair(piece.src, i, nbytes)
        store_part(piece.out, i, nbytes, sum_of(pe, (piece.residual, nbytes), incoming, own, i))
        i += cuda.blockDim.x
    cuda.syncthreads()


def reduce_forward_packets(pe, piece, incoming, reduced, scratch):
    nbytes = piece.n_elems * ITEM_BYTES
    parts = padded(nbytes)
    one_row = PacketRows(piece.out, piece.out, 0, ONE_ROW, nbytes)
    outgoing = Packets(Slots(reduced, incoming.slots.nbytes), incoming.epoch)
    i = cuda.threadIdx.x
    while i < parts:
        own = own_pair(piece.src, i, nbytes)
        pair = sum_of(pe, (0, nbytes), incoming, own, i)
        send_rows(pe, one_row, outgoing, pair, i)
        if piece.residual != 0:
            pair = plus_pair(pair, own_pair(piece.residual, i, nbytes))
        store_part(piece.out, i, nbytes, pair)
        i += cuda.blockDim.x
    cuda.syncthreads()


def send_rows(pe, rows, outgoing, own, i):
    """Send part ``i`` of each row of src to the row's PE; with the stride ONE_ROW, all PEs get ``own``."""
    ctx, me, n_pes = pe
    slots, epoch = outgoing
    epoch = poisoned(ctx, epoch)
    for k in range(1, n_pes):
        to = (me + k) % n_pes
        pair = own
        if rows.src_stride != ONE_ROW:
            pair = own_pair(rows.src + to * rows.src_stride, i, rows.nbytes)
        send_part(peer_address(ctx, slot_at(slots, me), to), i, pair, epoch)


def all_to_all_packets(pe, rows, incoming):
    ctx, me, n_pes = pe
    slots, epoch = incoming
    parts = padded(rows.nbytes)
    step = cuda.blockDim.x
    own_src = rows.src + me * rows.src_stride
    own_out = rows.out + me * rows.out_stride
    # A thread sends its next part before it waits for the previous part.
    i = cuda.threadIdx.x
    sent = i
    while i < parts:
        while sent <= i + step and sent < parts:
            own = own_pair(own_src, sent, rows.nbytes)
            send_rows(pe, rows, incoming, own, sent)
            if own_out != own_src:
                store_part(own_out, sent, rows.nbytes, own)
            sent += step
        if TOGETHER:
            pairs = take_all(pe, incoming, i)
            for source in range(n_pes):
                if source != me:
                    store_part(rows.out + source * rows.out_stride, i, rows.nbytes, pair_of(pairs, source))
        else:
            for k in range(1, n_pes):
                source = (me + k) % n_pes
                pair = take(ctx, slot_at(slots, source), i, epoch, source)
                store_part(rows.out + source * rows.out_stride, i, rows.nbytes, pair)
        i += step
    cuda.syncthreads()


def exchange_reduce_packets(pe, piece, src_stride, incoming, scratch):
    nbytes = piece.n_elems * ITEM_BYTES
    parts = padded(nbytes)
    step = cuda.blockDim.x
    rows = PacketRows(piece.out, piece.src, 0, src_stride, nbytes)
    own_src = piece.src + pe.me * src_stride
    # Three parts of a thread are under way: it sends the newest part before it adds up the oldest part.
    i = cuda.threadIdx.x
    oldest = (0, 0)
    newer = (0, 0)
    if i < parts:
        oldest = own_pair(own_src, i, nbytes)
        send_rows(pe, rows, incoming, oldest, i)
    if i + step < parts:
        newer = own_pair(own_src, i + step, nbytes)
        send_rows(pe, rows, incoming, newer, i + step)
    while i < parts:
        newest_i = i + 2 * step
        newest = (0, 0)
        if newest_i < parts:
            newest = own_pair(own_src, newest_i, nbytes)
            send_rows(pe, rows, incoming, newest, newest_i)
        store_part(piece.out, i, nbytes, sum_of(pe, (piece.residual, nbytes), incoming, oldest, i))
        oldest = newer
        newer = newest
        i += step
    cuda.syncthreads()
