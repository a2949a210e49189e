"""Implementations of the primitives that reach peers, except packets; and of multicast."""

from ..kernels import block
from ..kernels.steps import peer
from .faults import Fault
from .implementations import (
    IMPLEMENTATIONS,
    after_barrier,
    any_warp,
    between_barriers,
    combine,
    combined,
    copy,
    each_thread,
    leader,
    parts,
)
from .shadow import WRITE


@any_warp
def combine_put(b, pe, piece, dst, slots, scratch):
    reads_later = any(b.network.reads_later(b.pe, to) for to in b.pes)
    result = scratch if reads_later else piece.out
    combine(b, pe, piece._replace(out=result, residual=0), slots, scratch)
    for k in range(1, pe.n_pes):
        b.network.put(b, dst, result, piece.nbytes, b.peer(peer(pe, k)))
    if reads_later:
        copy(b, piece.out, result, piece.nbytes)


@any_warp
def put(b, ctx, dst, src, nbytes, pe):
    b.network.put(b, dst, src, nbytes, b.peer(pe))


@any_warp
def put_lines(b, ctx, dst, src, lines, pe):
    if not b.network.by_pointer(b.pe, b.peer(pe)):
        raise Fault(f"lines go to PE {pe}, which no pointer of PE {b.pe} reaches")
    order = list(range(lines.first, lines.stop))
    b.scheduler.rng.shuffle(order)
    for line in order:
        plane, row = divmod(line, lines.rows)
        to = dst + plane * lines.dst_plane_bytes + row * lines.dst_row_bytes
        b.network.put(b, to, src + plane * lines.src_plane_bytes + row * lines.src_row_bytes, lines.nbytes, b.peer(pe))


@each_thread
def stage_for_put(b, ctx, room, src, nbytes, pe):
    if not b.network.reads_later(b.pe, b.peer(pe)):
        return src
    block.copy(room, src, nbytes)
    return room


@any_warp
def get(b, ctx, dst, src, nbytes, pe):
    pe = b.peer(pe)
    if b.memory.is_plain(b.pe, dst) and b.network.reads_later(b.pe, pe):
        what = b.memory.described(b.pe, dst)
        raise Fault(f"a get by NVSHMEM into {what}, which is a plain array: it must be symmetric or registered")
    b.network.request(b, pe)
    for start, stop in parts(b, dst, src, nbytes, pe):
        b.pause()
        data = b.memory.read(b, pe, src + start, stop - start)
        b.memory.write(b, b.pe, dst + start, stop - start)[:] = data


@any_warp
def send_message(b, ctx, message, word, value):
    b.network.put_signal(b, message._replace(peer=b.peer(message.peer)), word, value)
    b.pause()


@each_thread
def put_signal(b, ctx, message, word, value):
    dst, src, nbytes, pe = message
    if not b.network.by_pointer(b.pe, b.peer(pe)):
        IMPLEMENTATIONS["send_message"](ctx, message, word, value)
        return
    block.put(ctx, dst, src, nbytes, pe)
    if b.number == 0:
        signal(b, ctx, word, value, pe)


@between_barriers
def fence(b, ctx):
    b.network.fence(b)


@after_barrier
def signal(b, ctx, word, value, pe):
    b.network.signal(b, word, value, b.peer(pe))
    b.pause()


@after_barrier
def signal_all(b, ctx, signals, value, me, n_pes):
    peers = [pe for pe in range(n_pes) if pe != me]
    b.scheduler.rng.shuffle(peers)  # each signal is sent by a different thread
    for pe in peers:
        signal(b, ctx, signals + 8 * me, value, pe)


@leader
def wait(b, ctx, word, value, source):
    b.wait(b.pe, word, value)


@leader
def wait_all(b, ctx, signals, value, me, n_pes):
    for pe in range(n_pes):
        if pe != me:
            wait(b, ctx, signals + 8 * pe, value, pe)


@each_thread
def refuse_count(b, ctx, why, count, wanted, pe):
    if b.number == 0 and not b.machine.patience.gave_up[b.pe]:
        b.machine.noticed_why.add(why)
        b.machine.mismatch(b.pe)


@any_warp
def reduce_multicast(b, ctx, dst, src, count, scratch):
    if count <= 0:
        return
    for start, stop in b.scheduler.cuts(count):
        low, n = start * b.item.itemsize, stop - start
        addends = [b.memory.elements(pe, src + low, n, b.item, b) for pe in b.pes]
        b.memory.elements(b.pe, dst + low, n, b.item, b, WRITE)[:] = combined(b, b.op, addends, True)
        b.pause()


@any_warp
def store_multicast(b, ctx, dst, src, nbytes):
    for start, stop in parts(b, dst, src, nbytes, b.pe):
        data = b.memory.read(b, b.pe, src + start, stop - start).copy()
        for pe in (b.pe,) if b.network.gave_up[b.pe] else b.pes:
            b.network.store(b, pe, dst + start, data)
        b.pause()


@between_barriers
def meet_multicast(b, ctx, word, value, n_pes):
    b.block.stores.release()
    b.network.set_word(b, b.pe, word, b.network.poisoned(b, value))
    for pe in b.pes:
        b.wait(pe, word, value)
