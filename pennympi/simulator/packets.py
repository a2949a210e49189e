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
        b = getcurrent()
        work(b, *args)
        if work.__name__ not in ("send_packets", "send_lines"):
            b.block.barrier(b, work.__name__)

    return registered(work, primitive)


def groups(b: Any, nbytes: int) -> range:
    """The groups of a warp; all warps together have at least one."""
    return range(b.number, max(1, -(-nbytes // GROUP_DATA_BYTES)), len(b.block.warps))


def read(b: Any, src: int, group: int, nbytes: int) -> np.ndarray:
    """The data of a group, with zeros after the end."""
    data = np.zeros(GROUP_DATA_BYTES, np.uint8)
    low = group * GROUP_DATA_BYTES
    n = min(GROUP_DATA_BYTES, nbytes - low)
    if n > 0:
        b.memory.inside(b, READ, b.pe, src, nbytes)
        data[:n] = b.memory.read(b, b.pe, src + low, n)
    return data


def write(b: Any, dst: int, group: int, nbytes: int, data: np.ndarray) -> None:
    """Write the data of a group to dst (nbytes,)."""
    low = group * GROUP_DATA_BYTES
    n = min(GROUP_DATA_BYTES, nbytes - low)
    if n > 0:
        b.memory.inside(b, WRITE, b.pe, dst, nbytes)
        b.memory.write(b, b.pe, dst + low, n)[:] = data[:n]


def send(b: Any, slot: int, group: int, data: np.ndarray, nbytes: int, epoch: int, pe: int) -> None:
    """Send the lines of a group to a slot of PE ``pe``."""
    to, pe = slot + group * GROUP_BYTES, b.peer(pe)
    b.memory.inside(b, WRITE, pe, to, GROUP_BYTES)
    b.network.sent[b.pe, pe] += max(0, min(GROUP_DATA_BYTES, nbytes - group * GROUP_DATA_BYTES))
    lines = [(k, np.empty(PACKET_BYTES, np.uint8)) for k in range(PACKETS_TOGETHER)]
    for k, line in lines:
        line[:PACKET_DATA_BYTES] = data[k * PACKET_DATA_BYTES : (k + 1) * PACKET_DATA_BYTES]
        line[PACKET_DATA_BYTES:].view(np.int64)[0] = b.network.poisoned(b, epoch)
    b.scheduler.rng.shuffle(lines)
    for k, line in lines:
        b.network.store(b, pe, to + k * PACKET_BYTES, line, True)


def state_of(b: Any, slot: int, group: int, epoch: int) -> str:
    """The state of a group's lines: "complete" if all are of this epoch, "of another call", "lost" or "early"."""
    first = slot + group * GROUP_BYTES + PACKET_DATA_BYTES
    words = [b.memory.load(b.pe, first + k * PACKET_BYTES) for k in range(PACKETS_TOGETHER)]
    if all(word == epoch for word in words):
        return "complete"
    if any(is_of_another_call(word, epoch) for word in words):
        return "of another call"
    return "lost" if b.network.gave_up[b.pe] or any(word >= POISON for word in words) else "early"


def await_lines(b: Any, have_come: Callable[[], bool]) -> None:
    """Wait until lines have come, or this PE gives up."""
    while not have_come():
        if b.machine.patience.is_over(b.pe):
            b.machine.give_up(b.pe)
        else:
            b.sleep(("line", b.pe))


def take(b: Any, slot: int, group: int, epoch: int) -> np.ndarray:
    """The data of a group, after all its lines have come."""
    await_lines(b, lambda: state_of(b, slot, group, epoch) != "early")
    state = state_of(b, slot, group, epoch)
    if state == "of another call":
        b.machine.mismatch(b.pe)
    if state != "complete":
        b.machine.give_up(b.pe)
    start = slot + group * GROUP_BYTES
    for k in range(PACKETS_TOGETHER):
        b.clock.acquire(b.memory.clocks.words.get((b.pe, start + k * PACKET_BYTES)))
    lines = b.memory.read(b, b.pe, start, GROUP_BYTES).reshape(PACKETS_TOGETHER, PACKET_BYTES)
    return lines[:, :PACKET_DATA_BYTES].reshape(-1)


def take_all(b: Any, pe: PE, incoming: Packets, group: int) -> dict[int, np.ndarray]:
    """``take`` from every other PE: one after another, or after the lines of all have come."""
    slots, epoch = incoming
    slot_of = {source: slot_at(slots, source) for source in range(pe.n_pes) if source != pe.me}
    if b.machine.polls_together:
        await_lines(b, lambda: all(state_of(b, slot, group, epoch) != "early" for slot in slot_of.values()))
    return {source: take(b, slot, group, epoch) for source, slot in slot_of.items()}


def total(b: Any, parts: list[np.ndarray], addend: np.ndarray | None = None, op: str = "") -> np.ndarray:
    """The reduction of the parts, as elements.  addend: a residual"""
    residual = None if addend is None else addend.view(b.item)
    added = combined(b, op or b.op, [part.view(b.item) for part in parts], not op, residual)
    return added.astype(b.item).view(np.uint8)


def send_rows(b: Any, pe: PE, rows: PacketRows, incoming: Packets, group: int) -> None:
    """Send a group of each row of src to the row's PE."""
    for k in range(1, pe.n_pes):
        to = peer(pe, k)
        data = read(b, rows.src + to * rows.src_stride, group, rows.nbytes)
        send(b, slot_at(incoming.slots, pe.me), group, data, rows.nbytes, incoming.epoch, to)


@by_groups
def send_packets(b, ctx, message, epoch):
    slot, src, nbytes, pe = message
    for group in groups(b, nbytes):
        b.pause()
        send(b, slot, group, read(b, src, group, nbytes), nbytes, epoch, pe)


@by_groups
def receive_packets(b, ctx, message, epoch):
    dst, slot, nbytes, _ = message
    for group in groups(b, nbytes):
        write(b, dst, group, nbytes, take(b, slot, group, epoch))
        b.pause()


def pieces(lines: Lines, group: int, nbytes: int, side: str) -> Iterator[tuple[int, int, int]]:
    """The parts of lines in a group: (bytes from the start of the box, bytes from the start of the group, length)."""
    plane_bytes, row_bytes = getattr(lines, f"{side}_plane_bytes"), getattr(lines, f"{side}_row_bytes")
    low, high = group * GROUP_DATA_BYTES, min(nbytes, (group + 1) * GROUP_DATA_BYTES)
    for line in range(low // lines.nbytes, -(-high // lines.nbytes)):
        plane, row = divmod(line, lines.rows)
        first, stop = max(low, line * lines.nbytes), min(high, (line + 1) * lines.nbytes)
        yield plane * plane_bytes + row * row_bytes + first - line * lines.nbytes, first - low, stop - first


@by_groups
def send_lines(b, ctx, message, lines, epoch):
    slot, src, nbytes, pe = message
    for group in range(lines.first + b.number, lines.stop, len(b.block.warps)):
        b.pause()
        data = np.zeros(GROUP_DATA_BYTES, np.uint8)
        for place, start, n in pieces(lines, group, nbytes, "src"):
            b.memory.inside(b, READ, b.pe, src + place, n)
            data[start : start + n] = b.memory.read(b, b.pe, src + place, n)
        send(b, slot, group, data, nbytes, epoch, pe)


@by_groups
def receive_lines(b, ctx, message, lines, epoch):
    dst, slot, nbytes, _ = message
    for group in range(lines.first + b.number, lines.stop, len(b.block.warps)):
        data = take(b, slot, group, epoch)
        for place, start, n in pieces(lines, group, nbytes, "dst"):
            b.memory.inside(b, WRITE, b.pe, dst + place, n)
            b.memory.write(b, b.pe, dst + place, n)[:] = data[start : start + n]
        b.pause()


@by_groups
def receive_plus(b, ctx, piece, slot, epoch, source):
    for group in groups(b, piece.nbytes):
        addend = read(b, piece.residual, group, piece.nbytes)
        data = take(b, slot, group, epoch)
        write(b, piece.out, group, piece.nbytes, total(b, [data, addend], op="sum"))
        b.pause()


@by_groups
def combine_packets(b, pe, piece, incoming, scratch):
    for group in groups(b, piece.nbytes):
        own = read(b, piece.src, group, piece.nbytes)
        arrived = take_all(b, pe, incoming, group)
        write(b, piece.out, group, piece.nbytes, total(b, [own, *arrived.values()]))
        b.pause()


@by_groups
def reduce_forward_packets(b, pe, piece, incoming, reduced, scratch):
    nbytes, slot_bytes = piece.nbytes, incoming.slots.nbytes
    for group in groups(b, nbytes):
        own = read(b, piece.src, group, nbytes)
        arrived = take_all(b, pe, incoming, group)
        data = total(b, [own, *arrived.values()])
        for k in range(1, pe.n_pes):
            send(b, reduced + pe.me * slot_bytes, group, data, nbytes, incoming.epoch, peer(pe, k))
        b.pause()
        if piece.residual:
            data = total(b, [data, read(b, piece.residual, group, nbytes)], op="sum")
        write(b, piece.out, group, nbytes, data)
        b.pause()


@by_groups
def all_to_all_packets(b, pe, rows, incoming):
    nbytes = rows.nbytes
    own_src, own_out = rows.src + pe.me * rows.src_stride, rows.out + pe.me * rows.out_stride
    own_groups, sent = groups(b, nbytes), 0
    for k, group in enumerate(own_groups):
        while sent <= k + 1 and sent < len(own_groups):
            send_rows(b, pe, rows, incoming, own_groups[sent])
            if own_out != own_src:
                write(b, own_out, own_groups[sent], nbytes, read(b, own_src, own_groups[sent], nbytes))
            sent += 1
            b.pause()
        arrived = take_all(b, pe, incoming, group)
        for source, data in arrived.items():
            write(b, rows.out + source * rows.out_stride, group, nbytes, data)
        b.pause()


@by_groups
def exchange_reduce_packets(b, pe, piece, src_stride, incoming, scratch):
    nbytes = piece.nbytes
    rows = PacketRows(piece.out, piece.src, 0, src_stride, nbytes)
    own_groups, own = groups(b, nbytes), {}
    for k, group in enumerate(own_groups):
        for ahead in range(len(own), min(k + 3, len(own_groups))):  # the next two parts are already under way
            own[ahead] = read(b, piece.src + pe.me * src_stride, own_groups[ahead], nbytes)
            send_rows(b, pe, rows, incoming, own_groups[ahead])
            b.pause()
        addend = read(b, piece.residual, group, nbytes) if piece.residual else None
        arrived = take_all(b, pe, incoming, group)
        write(b, piece.out, group, nbytes, total(b, [own[k], *arrived.values()], addend))
        b.pause()
