"""Implementations of the packet primitives: 128-byte lines land whole, in any order; warps do not wait for each other.

A warp sends and receives groups of four lines.
"""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from greenlet import getcurrent

from ..kernels.block import POISON
from ..kernels.packets import GROUP_BYTES, GROUP_DATA_BYTES, PACKET_BYTES, PACKET_DATA_BYTES, PACKETS_TOGETHER
from ..kernels.records import PE, Lines, PacketRows, Packets
from ..kernels.slots import slot_at
from ..kernels.steps import peer
from .implementations import combined, registered
from .memory import is_of_another_call
from .shadow import READ, WRITE


def by_groups(work: Callable[..., None]) -> Callable[..., None]:
    """A primitive that each warp does for its own groups.  It ends with a barrier, unless it sends."""

    def primitive(*args: Any) -> None:
        warp = getcurrent()
        work(warp, *args)
        if work.__name__ not in ("send_packets", "send_lines"):
            warp.block.barrier(warp, work.__name__)

    return registered(work, primitive)


def groups(warp: Any, nbytes: int) -> range:
    """The groups of a warp; all warps together have at least one."""
    return range(warp.number, max(1, -(-nbytes // GROUP_DATA_BYTES)), len(warp.block.warps))


def read(warp: Any, src: int, group: int, nbytes: int) -> np.ndarray:
    """The data of a group, with zeros after the end."""
    data = np.zeros(GROUP_DATA_BYTES, np.uint8)
    low = group * GROUP_DATA_BYTES
    n = min(GROUP_DATA_BYTES, nbytes - low)
    if n > 0:
        warp.memory.inside(warp, READ, warp.pe, src, nbytes)
        data[:n] = warp.memory.read(warp, warp.pe, src + low, n)
    return data


def write(warp: Any, dst: int, group: int, nbytes: int, data: np.ndarray) -> None:
    """Write the data of a group to dst (nbytes,)."""
    low = group * GROUP_DATA_BYTES
    n = min(GROUP_DATA_BYTES, nbytes - low)
    if n > 0:
        warp.memory.inside(warp, WRITE, warp.pe, dst, nbytes)
        warp.memory.write(warp, warp.pe, dst + low, n)[:] = data[:n]


def send(warp: Any, slot: int, group: int, data: np.ndarray, nbytes: int, epoch: int, pe: int) -> None:
    """Send the lines of a group to a slot of PE ``pe``."""
    to, pe = slot + group * GROUP_BYTES, warp.peer(pe)
    warp.memory.inside(warp, WRITE, pe, to, GROUP_BYTES)
    warp.network.sent[warp.pe, pe] += max(0, min(GROUP_DATA_BYTES, nbytes - group * GROUP_DATA_BYTES))
    lines = [(k, np.empty(PACKET_BYTES, np.uint8)) for k in range(PACKETS_TOGETHER)]
    for k, line in lines:
        line[:PACKET_DATA_BYTES] = data[k * PACKET_DATA_BYTES : (k + 1) * PACKET_DATA_BYTES]
        line[PACKET_DATA_BYTES:].view(np.int64)[0] = warp.network.poisoned(warp, epoch)
    warp.scheduler.rng.shuffle(lines)
    for k, line in lines:
        warp.network.store(warp, pe, to + k * PACKET_BYTES, line, True)


def state_of(warp: Any, slot: int, group: int, epoch: int) -> str:
    """The state of a group's lines: "complete" if all are of this epoch, "of another call", "lost" or "early"."""
    first = slot + group * GROUP_BYTES + PACKET_DATA_BYTES
    words = [warp.memory.load(warp.pe, first + k * PACKET_BYTES) for k in range(PACKETS_TOGETHER)]
    if all(word == epoch for word in words):
        return "complete"
    if any(is_of_another_call(word, epoch) for word in words):
        return "of another call"
    return "lost" if warp.network.gave_up[warp.pe] or any(word >= POISON for word in words) else "early"


def await_lines(warp: Any, have_come: Callable[[], bool]) -> None:
    """Wait until lines have come, or this PE gives up."""
    while not have_come():
        if warp.machine.patience.is_over(warp.pe):
            warp.machine.give_up(warp.pe)
        else:
            warp.sleep(("line", warp.pe))


def take(warp: Any, slot: int, group: int, epoch: int) -> np.ndarray:
    """The data of a group, after all its lines have come."""
    await_lines(warp, lambda: state_of(warp, slot, group, epoch) != "early")
    state = state_of(warp, slot, group, epoch)
    if state == "of another call":
        warp.machine.mismatch(warp.pe)
    if state != "complete":
        warp.machine.give_up(warp.pe)
    start = slot + group * GROUP_BYTES
    for k in range(PACKETS_TOGETHER):
        warp.clock.acquire(warp.memory.clocks.words.get((warp.pe, start + k * PACKET_BYTES)))
    lines = warp.memory.read(warp, warp.pe, start, GROUP_BYTES).reshape(PACKETS_TOGETHER, PACKET_BYTES)
    return lines[:, :PACKET_DATA_BYTES].reshape(-1)


def take_all(warp: Any, pe: PE, incoming: Packets, group: int) -> dict[int, np.ndarray]:
    """``take`` from every other PE: one after another, or after the lines of all have come."""
    slots, epoch = incoming
    slot_of = {source: slot_at(slots, source) for source in range(pe.n_pes) if source != pe.me}
    if warp.machine.polls_together:
        await_lines(warp, lambda: all(state_of(warp, slot, group, epoch) != "early" for slot in slot_of.values()))
    return {source: take(warp, slot, group, epoch) for source, slot in slot_of.items()}


def total(warp: Any, parts: list[np.ndarray], addend: np.ndarray | None = None, op: str = "") -> np.ndarray:
    """The reduction of the parts, as elements.  addend: a residual"""
    residual = None if addend is None else addend.view(warp.item)
    added = combined(warp, op or warp.op, [part.view(warp.item) for part in parts], not op, residual)
    return added.astype(warp.item).view(np.uint8)


def send_rows(warp: Any, pe: PE, rows: PacketRows, incoming: Packets, group: int) -> None:
    """Send a group of each row of src to the row's PE."""
    for k in range(1, pe.n_pes):
        to = peer(pe, k)
        data = read(warp, rows.src + to * rows.src_stride, group, rows.nbytes)
        send(warp, slot_at(incoming.slots, pe.me), group, data, rows.nbytes, incoming.epoch, to)


@by_groups
def send_packets(warp, ctx, message, epoch):
    slot, src, nbytes, pe = message
    for group in groups(warp, nbytes):
        warp.pause()
        send(warp, slot, group, read(warp, src, group, nbytes), nbytes, epoch, pe)


@by_groups
def receive_packets(warp, ctx, message, epoch):
    dst, slot, nbytes, _ = message
    for group in groups(warp, nbytes):
        write(warp, dst, group, nbytes, take(warp, slot, group, epoch))
        warp.pause()


def pieces(lines: Lines, group: int, nbytes: int, side: str) -> Iterator[tuple[int, int, int]]:
    """The parts of lines in a group: (bytes from the start of the box, bytes from the start of the group, length)."""
    plane_bytes, row_bytes = getattr(lines, f"{side}_plane_bytes"), getattr(lines, f"{side}_row_bytes")
    low, high = group * GROUP_DATA_BYTES, min(nbytes, (group + 1) * GROUP_DATA_BYTES)
    for line in range(low // lines.nbytes, -(-high // lines.nbytes)):
        plane, row = divmod(line, lines.rows)
        first, stop = max(low, line * lines.nbytes), min(high, (line + 1) * lines.nbytes)
        yield plane * plane_bytes + row * row_bytes + first - line * lines.nbytes, first - low, stop - first


@by_groups
def send_lines(warp, ctx, message, lines, epoch):
    slot, src, nbytes, pe = message
    for group in range(lines.first + warp.number, lines.stop, len(warp.block.warps)):
        warp.pause()
        data = np.zeros(GROUP_DATA_BYTES, np.uint8)
        for place, start, n in pieces(lines, group, nbytes, "src"):
            warp.memory.inside(warp, READ, warp.pe, src + place, n)
            data[start : start + n] = warp.memory.read(warp, warp.pe, src + place, n)
        send(warp, slot, group, data, nbytes, epoch, pe)


@by_groups
def receive_lines(warp, ctx, message, lines, epoch):
    dst, slot, nbytes, _ = message
    for group in range(lines.first + warp.number, lines.stop, len(warp.block.warps)):
        data = take(warp, slot, group, epoch)
        for place, start, n in pieces(lines, group, nbytes, "dst"):
            warp.memory.inside(warp, WRITE, warp.pe, dst + place, n)
            warp.memory.write(warp, warp.pe, dst + place, n)[:] = data[start : start + n]
        warp.pause()


@by_groups
def receive_plus(warp, ctx, piece, slot, epoch, source):
    for group in groups(warp, piece.nbytes):
        addend = read(warp, piece.residual, group, piece.nbytes)
        data = take(warp, slot, group, epoch)
        write(warp, piece.out, group, piece.nbytes, total(warp, [data, addend], op="sum"))
        warp.pause()


@by_groups
def combine_packets(warp, pe, piece, incoming, scratch):
    for group in groups(warp, piece.nbytes):
        own = read(warp, piece.src, group, piece.nbytes)
        arrived = take_all(warp, pe, incoming, group)
        write(warp, piece.out, group, piece.nbytes, total(warp, [own, *arrived.values()]))
        warp.pause()


@by_groups
def reduce_forward_packets(warp, pe, piece, incoming, reduced, scratch):
    nbytes, slot_bytes = piece.nbytes, incoming.slots.nbytes
    for group in groups(warp, nbytes):
        own = read(warp, piece.src, group, nbytes)
        arrived = take_all(warp, pe, incoming, group)
        data = total(warp, [own, *arrived.values()])
        for k in range(1, pe.n_pes):
            send(warp, reduced + pe.me * slot_bytes, group, data, nbytes, incoming.epoch, peer(pe, k))
        warp.pause()
        if piece.residual:
            data = total(warp, [data, read(warp, piece.residual, group, nbytes)], op="sum")
        write(warp, piece.out, group, nbytes, data)
        warp.pause()


@by_groups
def all_to_all_packets(warp, pe, rows, incoming):
    nbytes = rows.nbytes
    own_src, own_out = rows.src + pe.me * rows.src_stride, rows.out + pe.me * rows.out_stride
    own_groups, sent = groups(warp, nbytes), 0
    for k, group in enumerate(own_groups):
        while sent <= k + 1 and sent < len(own_groups):
            send_rows(warp, pe, rows, incoming, own_groups[sent])
            if own_out != own_src:
                write(warp, own_out, own_groups[sent], nbytes, read(warp, own_src, own_groups[sent], nbytes))
            sent += 1
            warp.pause()
        arrived = take_all(warp, pe, incoming, group)
        for source, data in arrived.items():
            write(warp, rows.out + source * rows.out_stride, group, nbytes, data)
        warp.pause()


@by_groups
def exchange_reduce_packets(warp, pe, piece, src_stride, incoming, scratch):
    nbytes = piece.nbytes
    rows = PacketRows(piece.out, piece.src, 0, src_stride, nbytes)
    own_groups, own = groups(warp, nbytes), {}
    for k, group in enumerate(own_groups):
        for ahead in range(len(own), min(k + 3, len(own_groups))):  # the next two parts are already under way
            own[ahead] = read(warp, piece.src + pe.me * src_stride, own_groups[ahead], nbytes)
            send_rows(warp, pe, rows, incoming, own_groups[ahead])
            warp.pause()
        addend = read(warp, piece.residual, group, nbytes) if piece.residual else None
        arrived = take_all(warp, pe, incoming, group)
        write(warp, piece.out, group, nbytes, total(warp, [own[k], *arrived.values()], addend))
        warp.pause()
