"""Bodies of the packet primitives: 128-byte lines land whole, in any order, and warps do not wait for one another.

A warp writes and takes groups of four lines.  Its work is a generator that yields None when it can go on, or what it
waits for; the warps of a block are run in any order until all are done, which is where a GPU's block has its barrier.
"""

from collections.abc import Callable, Generator
from functools import wraps
from typing import Any

import numpy as np
from greenlet import getcurrent

from pennympi.kernels.algorithm import GROUP_DATA_BYTES, PACKET_BYTES, PACKET_DATA_BYTES, PACKETS_TOGETHER

from .memory import POISON, is_of_another_call

GROUP_BYTES = PACKETS_TOGETHER * PACKET_BYTES
Work = Generator[Any, None, None]
PACKET_BODIES: dict[str, Any] = {}


def drain(block: Any) -> None:
    """Run the warps of a block until all have done what they were given."""
    active = [queue for queue in block.warps if queue]
    waiting: dict[int, Any] = {}
    while active:
        can = [queue for queue in active if id(queue) not in waiting or waiting[id(queue)]()]
        if not can:
            if block.machine.patience.is_over(block.pe):
                block.machine.give_up(block.pe)
            else:
                block.sleep(("line", block.pe))
            continue
        queue = can[int(block.scheduler.random() * len(can))]
        waiting.pop(id(queue), None)
        try:
            wanted = next(queue[0])
            if wanted is not None:
                waiting[id(queue)] = wanted
        except StopIteration:
            queue.popleft()
            if not queue:
                active.remove(queue)
        block.pause()


def syncs(function: Callable[..., Any]) -> Callable[..., Any]:
    """A primitive that begins with all warps at the same point."""

    @wraps(function)
    def after_all(*args: Any) -> Any:
        block = getcurrent()
        if any(block.warps):
            drain(block)
        return function(*args)

    return after_all


def warps(ends: bool) -> Callable[..., Any]:
    """A primitive whose work is given to each warp, by the groups that are its own.  ends: with a barrier."""

    def enter(work: Callable[..., Work]) -> Callable[..., Any]:
        def primitive(*args: Any) -> None:
            block = getcurrent()
            for warp, queue in enumerate(block.warps):
                queue.append(work(block, warp, *args))
            if ends:
                drain(block)

        PACKET_BODIES[work.__name__] = primitive
        return primitive

    return enter


def groups(block: Any, warp: int, nbytes: int) -> range:
    """The groups of a warp; at least one for all."""
    return range(warp, max(1, -(-nbytes // GROUP_DATA_BYTES)), len(block.warps))


def read(block: Any, src: int, group: int, nbytes: int) -> np.ndarray:
    """The data of a group, with zeros beyond the end."""
    data = np.zeros(GROUP_DATA_BYTES, np.uint8)
    low = group * GROUP_DATA_BYTES
    n = min(GROUP_DATA_BYTES, nbytes - low)
    if n > 0:
        block.memory.holds(src, nbytes)
        data[:n] = block.memory.bytes[block.pe][src + low : src + low + n]
    return data


def write(block: Any, dst: int, group: int, nbytes: int, data: np.ndarray) -> None:
    """The data of a group to dst (nbytes,)."""
    low = group * GROUP_DATA_BYTES
    n = min(GROUP_DATA_BYTES, nbytes - low)
    if n > 0:
        block.memory.holds(dst, nbytes)
        block.memory.bytes[block.pe][dst + low : dst + low + n] = data[:n]


def send(block: Any, slot: int, group: int, data: np.ndarray, epoch: int, pe: int) -> None:
    """The lines of a group to a slot of PE ``pe``."""
    to = slot + group * GROUP_BYTES
    block.memory.holds(to, GROUP_BYTES)
    lines = [(k, np.empty(PACKET_BYTES, np.uint8)) for k in range(PACKETS_TOGETHER)]
    for k, line in lines:
        line[:PACKET_DATA_BYTES] = data[k * PACKET_DATA_BYTES : (k + 1) * PACKET_DATA_BYTES]
        line[PACKET_DATA_BYTES:].view(np.int64)[0] = block.network.poisoned(block, epoch)
    block.scheduler.rng.shuffle(lines)
    for k, line in lines:
        block.network.store(block, pe, to + k * PACKET_BYTES, line, True)


def complete(block: Any, slot: int, group: int, epoch: int) -> bool:
    """Whether all lines of a group are of this epoch."""
    at = slot + group * GROUP_BYTES + PACKET_DATA_BYTES
    words = block.memory.words[block.pe]
    return all(words[(at + k * PACKET_BYTES) >> 3] == epoch for k in range(PACKETS_TOGETHER))


def settled(block: Any, slot: int, group: int, epoch: int) -> bool:
    """``complete``, or never: a line is poison or of another call, or this PE has given up."""
    if complete(block, slot, group, epoch) or block.network.gave_up[block.pe]:
        return True
    return any(word >= POISON for word in words_of(block, slot, group)) or of_another_call(block, slot, group, epoch)


def words_of(block: Any, slot: int, group: int) -> list[int]:
    """The epochs of a group's lines."""
    at, words = slot + group * GROUP_BYTES + PACKET_DATA_BYTES, block.memory.words[block.pe]
    return [words[(at + k * PACKET_BYTES) >> 3] for k in range(PACKETS_TOGETHER)]


def of_another_call(block: Any, slot: int, group: int, epoch: int) -> bool:
    """Whether a line of a group is of the same round of another call."""
    return any(is_of_another_call(word, epoch) for word in words_of(block, slot, group))


def take(block: Any, slot: int, group: int, epoch: int) -> Generator[Any, None, np.ndarray]:
    """The data of a group, as they were when all its lines had come."""
    block.memory.holds(slot + group * GROUP_BYTES, GROUP_BYTES)
    while not settled(block, slot, group, epoch):
        yield lambda: settled(block, slot, group, epoch)
    if not complete(block, slot, group, epoch):
        if of_another_call(block, slot, group, epoch):
            block.machine.mismatch(block.pe)
        block.machine.give_up(block.pe)
    at = slot + group * GROUP_BYTES
    lines = block.memory.bytes[block.pe][at : at + GROUP_BYTES].reshape(PACKETS_TOGETHER, PACKET_BYTES)
    return lines[:, :PACKET_DATA_BYTES].reshape(-1)


def take_all(
    block: Any, slots: int, slot_bytes: int, group: int, epoch: int, me: int, n_pes: int
) -> Generator[Any, None, dict[int, np.ndarray]]:
    """``take`` from every other PE: one after another, or once all have come."""
    others = [pe for pe in range(n_pes) if pe != me]
    if block.machine.together:
        while not all(settled(block, slots + pe * slot_bytes, group, epoch) for pe in others):
            yield lambda: all(settled(block, slots + pe * slot_bytes, group, epoch) for pe in others)
    found = {}
    for pe in others:
        found[pe] = yield from take(block, slots + pe * slot_bytes, group, epoch)
    return found


def total(block: Any, parts: list[np.ndarray]) -> np.ndarray:
    """Sum of the parts as elements."""
    added = parts[0].view(block.item).astype(block.partial)
    for part in parts[1:]:
        added += part.view(block.item)
    return added.astype(block.item).view(np.uint8)


def send_rows(block, slots, slot_bytes, src, src_stride, group, nbytes, epoch, me, n_pes):
    """A group of each row of src to its PE."""
    for k in range(1, n_pes):
        pe = (me + k) % n_pes
        send(block, slots + me * slot_bytes, group, read(block, src + pe * src_stride, group, nbytes), epoch, pe)


@warps(ends=False)
def send_packets(block, warp, _, slot, src, nbytes, epoch, pe):
    for group in groups(block, warp, nbytes):
        yield
        send(block, slot, group, read(block, src, group, nbytes), epoch, pe)


@warps(ends=True)
def receive_packets(block, warp, _, dst, slot, nbytes, epoch, source):
    for group in groups(block, warp, nbytes):
        data = yield from take(block, slot, group, epoch)
        write(block, dst, group, nbytes, data)
        yield


@warps(ends=True)
def receive_plus(block, warp, _, dst, slot, residual, count, epoch, source):
    nbytes = count * block.item.itemsize
    for group in groups(block, warp, nbytes):
        rest = read(block, residual, group, nbytes)
        data = yield from take(block, slot, group, epoch)
        write(block, dst, group, nbytes, total(block, [data, rest]))
        yield


@warps(ends=True)
def combine_packets(block, warp, _, out, slots, slot_bytes, src, count, epoch, scratch, me, n_pes):
    nbytes = count * block.item.itemsize
    for group in groups(block, warp, nbytes):
        own = read(block, src, group, nbytes)
        found = yield from take_all(block, slots, slot_bytes, group, epoch, me, n_pes)
        write(block, out, group, nbytes, total(block, [own, *found.values()]))
        yield


@warps(ends=True)
def reduce_forward_packets(
    block, warp, _, out, slots, reduced, slot_bytes, src, count, epoch, scratch, me, n_pes, residual=0
):
    nbytes = count * block.item.itemsize
    for group in groups(block, warp, nbytes):
        own = read(block, src, group, nbytes)
        found = yield from take_all(block, slots, slot_bytes, group, epoch, me, n_pes)
        data = total(block, [own, *found.values()])
        for k in range(1, n_pes):
            send(block, reduced + me * slot_bytes, group, data, epoch, (me + k) % n_pes)
        yield
        if residual:
            data = total(block, [data, read(block, residual, group, nbytes)])
        write(block, out, group, nbytes, data)
        yield


@warps(ends=True)
def all_to_all_packets(block, warp, _, out, out_stride, src, src_stride, slots, slot_bytes, nbytes, epoch, me, n_pes):
    own_src, own_out = src + me * src_stride, out + me * out_stride
    mine, sent = groups(block, warp, nbytes), 0
    for turn, group in enumerate(mine):
        while sent <= turn + 1 and sent < len(mine):
            send_rows(block, slots, slot_bytes, src, src_stride, mine[sent], nbytes, epoch, me, n_pes)
            if own_out != own_src:
                write(block, own_out, mine[sent], nbytes, read(block, own_src, mine[sent], nbytes))
            sent += 1
            yield
        found = yield from take_all(block, slots, slot_bytes, group, epoch, me, n_pes)
        for pe, data in found.items():
            write(block, out + pe * out_stride, group, nbytes, data)
        yield


@warps(ends=True)
def exchange_reduce_packets(
    block, warp, _, out, slots, slot_bytes, src, count, epoch, scratch, me, n_pes, src_stride=0, residual=0
):  # fmt: skip
    nbytes = count * block.item.itemsize
    own_src = src + me * src_stride
    mine, own = groups(block, warp, nbytes), {}
    for turn, group in enumerate(mine):
        for ahead in range(len(own), min(turn + 3, len(mine))):  # two parts are under way
            own[ahead] = read(block, own_src, mine[ahead], nbytes)
            send_rows(block, slots, slot_bytes, src, src_stride, mine[ahead], nbytes, epoch, me, n_pes)
            yield
        rest = [read(block, residual, group, nbytes)] if residual else []
        found = yield from take_all(block, slots, slot_bytes, group, epoch, me, n_pes)
        write(block, out, group, nbytes, total(block, [own[turn], *found.values(), *rest]))
        yield
