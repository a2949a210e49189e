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
def combine_put(warp, pe, piece, dst, slots, scratch):
    reads_later = any(warp.network.reads_later(warp.pe, to) for to in warp.pes)
    result = scratch if reads_later else piece.out
    combine(warp, pe, piece._replace(out=result, residual=0), slots, scratch)
    for k in range(1, pe.n_pes):
        warp.network.put(warp, dst, result, piece.nbytes, warp.peer(peer(pe, k)))
    if reads_later:
        copy(warp, piece.out, result, piece.nbytes)


@any_warp
def put(warp, ctx, dst, src, nbytes, pe):
    warp.network.put(warp, dst, src, nbytes, warp.peer(pe))


@any_warp
def put_lines(warp, ctx, dst, src, lines, pe):
    if not warp.network.by_pointer(warp.pe, warp.peer(pe)):
        raise Fault(f"lines go to PE {pe}, which no pointer of PE {warp.pe} reaches")
    order = list(range(lines.first, lines.stop))
    warp.scheduler.rng.shuffle(order)
    for line in order:
        plane, row = divmod(line, lines.rows)
        to = dst + plane * lines.dst_plane_bytes + row * lines.dst_row_bytes
        warp.network.put(
            warp, to, src + plane * lines.src_plane_bytes + row * lines.src_row_bytes, lines.nbytes, warp.peer(pe)
        )


@each_thread
def stage_for_put(warp, ctx, room, src, nbytes, pe):
    if not warp.network.reads_later(warp.pe, warp.peer(pe)):
        return src
    block.copy(room, src, nbytes)
    return room


@any_warp
def get(warp, ctx, dst, src, nbytes, pe):
    pe = warp.peer(pe)
    if warp.memory.is_plain(warp.pe, dst) and warp.network.reads_later(warp.pe, pe):
        what = warp.memory.described(warp.pe, dst)
        raise Fault(f"a get by NVSHMEM into {what}, which is a plain array: it must be symmetric or registered")
    warp.network.request(warp, pe)
    for start, stop in parts(warp, dst, src, nbytes, pe):
        warp.pause()
        data = warp.memory.read(warp, pe, src + start, stop - start)
        warp.memory.write(warp, warp.pe, dst + start, stop - start)[:] = data


@any_warp
def send_message(warp, ctx, message, word, value):
    warp.network.put_signal(warp, message._replace(peer=warp.peer(message.peer)), word, value)
    warp.pause()


@each_thread
def put_signal(warp, ctx, message, word, value):
    dst, src, nbytes, pe = message
    if not warp.network.by_pointer(warp.pe, warp.peer(pe)):
        IMPLEMENTATIONS["send_message"](ctx, message, word, value)
        return
    block.put(ctx, dst, src, nbytes, pe)
    if warp.number == 0:
        signal(warp, ctx, word, value, pe)


@between_barriers
def fence(warp, ctx):
    warp.network.fence(warp)


@after_barrier
def signal(warp, ctx, word, value, pe):
    warp.network.signal(warp, word, value, warp.peer(pe))
    warp.pause()


@after_barrier
def signal_all(warp, ctx, signals, value, me, n_pes):
    peers = [pe for pe in range(n_pes) if pe != me]
    warp.scheduler.rng.shuffle(peers)  # each signal is sent by a different thread
    for pe in peers:
        signal(warp, ctx, signals + 8 * me, value, pe)


@leader
def wait(warp, ctx, word, value, source):
    warp.wait(warp.pe, word, value)


@leader
def wait_all(warp, ctx, signals, value, me, n_pes):
    for pe in range(n_pes):
        if pe != me:
            wait(warp, ctx, signals + 8 * pe, value, pe)


@each_thread
def refuse_count(warp, ctx, why, count, wanted, pe):
    if warp.number == 0 and not warp.machine.patience.gave_up[warp.pe]:
        warp.machine.noticed_why.add(why)
        warp.machine.mismatch(warp.pe)


@any_warp
def reduce_multicast(warp, ctx, dst, src, count, scratch):
    if count <= 0:
        return
    for start, stop in warp.scheduler.cuts(count):
        low, n = start * warp.item.itemsize, stop - start
        addends = [warp.memory.elements(pe, src + low, n, warp.item, warp) for pe in warp.pes]
        warp.memory.elements(warp.pe, dst + low, n, warp.item, warp, WRITE)[:] = combined(warp, warp.op, addends, True)
        warp.pause()


@any_warp
def store_multicast(warp, ctx, dst, src, nbytes):
    for start, stop in parts(warp, dst, src, nbytes, warp.pe):
        data = warp.memory.read(warp, warp.pe, src + start, stop - start).copy()
        for pe in (warp.pe,) if warp.network.gave_up[warp.pe] else warp.pes:
            warp.network.store(warp, pe, dst + start, data)
        warp.pause()


@between_barriers
def meet_multicast(warp, ctx, word, value, n_pes):
    warp.block.stores.release()
    warp.network.set_word(warp, warp.pe, word, warp.network.poisoned(warp, value))
    for pe in warp.pes:
        warp.wait(pe, word, value)
