"""The networks: how the data and signals that a block sends reach a peer.

POINTER    a put is stores, which become visible in parts and in any order; a signal is a release: it comes after
           all that its block has written
IN_ORDER   puts that NVSHMEM carries: they arrive later, in order for each pair of PEs, and their source is read
           only then; a fence (NVSHMEM's quiet) waits until all that its block has sent is there
ANY_ORDER  the same, but messages arrive in any order: the data of a put_signal before its signal, and what is
           after a fence comes after all before the fence; nothing else is ordered
COPIED     messages of MPI between hosts: they arrive later, in order for each pair of PEs, packets too; their source,
           of any memory, is read at once; a fence waits for nothing, so it orders what goes to the same PE alone

PEs of one node reach each other by pointer in all of them.
"""

from collections import Counter, deque
from typing import Any

import numpy as np

from pennympi.kernels import records

from .faults import Fault
from .memory import POISON, Memory
from .scheduler import Scheduler

POINTER, IN_ORDER, ANY_ORDER, COPIED = "pointer", "in_order", "any_order", "copied"
NETWORKS = (POINTER, IN_ORDER, ANY_ORDER, COPIED)


class Stores:
    """What a block has stored by pointer and others do not see yet."""

    def __init__(self, network: "Network", pe: int):
        self.pe, self.priority = pe, 0.0
        self._network, self._parts = network, []
        self._listed = False

    def add(self, pe: int, dst: int, data: np.ndarray, line: bool) -> None:
        """Store later; after what this block has stored to the same place."""
        stop = dst + len(data)
        for part in [p for p in self._parts if p[0] == pe and p[1] < stop and dst < p[1] + len(p[2])]:
            self._parts.remove(part)
            self._network.land(*part)
        self._parts.append((pe, dst, data, line))
        if not self._listed:
            self._listed = True
            self._network.scheduler.add(self, self._network.scheduler.network_bias)

    def step(self) -> bool:
        if self._parts:
            part = self._parts.pop(int(self._network.scheduler.random() * len(self._parts)))
            self._network.land(*part)
        self._listed = bool(self._parts)
        return self._listed

    def release(self) -> None:
        """Let all see all."""
        while self._parts:
            self._network.land(*self._parts.pop())


class Message:
    """A put, a signal, or both, under way.  source: bytes that the put reads part by part, when it arrives."""

    def __init__(
        self, network: "Network", block: Any, to: int, dst: int, source: np.ndarray, word: int, value: int, line: bool
    ):
        self.pe, self.to, self.priority = block.pe, to, 0.0
        self._network, self._block, self._dst, self._source = network, block, dst, source
        self._parts = [] if not len(source) else [(0, len(source))] if line else network.scheduler.cuts(len(source))
        self._word, self._value, self._line = word, value, line

    def step(self) -> bool:
        """Land one part; the signal after the last."""
        network = self._network
        if self._parts:
            start, stop = self._parts.pop(0)
            network.land(self.to, self._dst + start, self._source[start:stop], self._line)
            if self._parts or self._word:
                return True
        if self._word:
            network.set_word(self.to, self._word, self._value)
        network.arrived(self._block)
        return False


class Channel:
    """Messages from one PE to another, in order."""

    def __init__(self, pe: int):
        self.pe, self.priority = pe, 0.0
        self.messages: deque[Message] = deque()

    def step(self) -> bool:
        if not self.messages[0].step():
            self.messages.popleft()
        return bool(self.messages)


class Network:
    """All links of a team.  node_of: of each PE, its node;  sent: of each (PE, peer), the bytes of its puts"""

    def __init__(self, kind: str, node_of: tuple[int, ...], memory: Memory, scheduler: Scheduler):
        self.kind, self.node_of, self.memory, self.scheduler = kind, node_of, memory, scheduler
        n = len(node_of)
        self._channels = {(a, b): Channel(a) for a in range(n) for b in range(n)}
        self.under_way = [0] * n
        self.gave_up = [False] * n
        self.sent: Counter[tuple[int, int]] = Counter()

    def by_pointer(self, me: int, pe: int) -> bool:
        """Whether PE ``me`` stores into PE ``pe``'s memory."""
        return self.kind == POINTER or self.node_of[me] == self.node_of[pe]

    def reads_later(self, me: int, pe: int) -> bool:
        """Whether the source of a put of PE ``me`` to PE ``pe`` must stay as it is when the put has returned."""
        return self.kind in (IN_ORDER, ANY_ORDER) and not self.by_pointer(me, pe)

    def land(self, pe: int, dst: int, data: np.ndarray, line: bool) -> None:
        """Data become visible."""
        self.memory.bytes[pe][dst : dst + len(data)] = data
        if line:
            self.scheduler.wake(("line", pe))

    def set_word(self, pe: int, address: int, value: int) -> None:
        """A signal word becomes visible."""
        self.memory.words[pe][address >> 3] = value
        self.scheduler.wake((pe, address))

    def arrived(self, block: Any) -> None:
        """A message of a block is complete."""
        if self.kind == COPIED:
            return
        block.under_way -= 1
        self.under_way[block.pe] -= 1
        if not block.under_way:
            self.scheduler.wake(("fence", block))
        if not self.under_way[block.pe]:
            self.scheduler.wake(("quiet", block.pe))

    def store(self, warp: Any, pe: int, dst: int, data: np.ndarray, line: bool = False) -> None:
        """Store through a pointer, visible now or later.  line: whole, and looked for by its epoch."""
        if not self.by_pointer(warp.pe, pe):
            self._send(warp, pe, dst, data, 0, 0, line)
        elif pe != warp.pe and self.scheduler.random() < self.scheduler.buffered:
            warp.block.stores.add(pe, dst, data, line)
        else:
            self.land(pe, dst, data, line)

    def put(self, warp: Any, dst: int, src: int, nbytes: int, pe: int) -> None:
        """Write to a peer, unless this PE has given up, for the peer may still read there."""
        if not nbytes or (self.gave_up[warp.pe] and pe != warp.pe):
            return
        self._check(dst, src, nbytes)
        self.sent[warp.pe, pe] += nbytes
        if not self.by_pointer(warp.pe, pe):
            self._send(warp, pe, dst, self._source(warp, src, nbytes), 0, 0)
            return
        own = self.memory.bytes[warp.pe]
        for start, stop in self.scheduler.cuts(nbytes):
            self.store(warp, pe, dst + start, own[src + start : src + stop].copy())
            warp.pause()

    def put_signal(self, warp: Any, message: records.Message, word: int, value: int) -> None:
        """Send a message that no pointer carries; once this PE has given up its signal alone."""
        dst, src, nbytes, pe = message
        if self.gave_up[warp.pe]:
            self.signal(warp, word, value, pe)
            return
        if nbytes:
            self._check(dst, src, nbytes)
        self.memory.holds(word, 8)
        self._send(warp, pe, dst, self._source(warp, src, nbytes), word, value)

    def signal(self, warp: Any, word: int, value: int, pe: int) -> None:
        """Set a word of a peer."""
        self.memory.holds(word, 8)
        value = self.poisoned(warp, value)
        if self.by_pointer(warp.pe, pe):
            warp.block.stores.release()
            self.set_word(pe, word, value)
        else:
            self._send(warp, pe, 0, self._source(warp, 0, 0), word, value)

    def poisoned(self, warp: Any, value: int) -> int:
        """What a warp sends for a value."""
        return value | POISON if self.gave_up[warp.pe] else value

    def fence(self, warp: Any) -> None:
        """Wait until all that the block has sent is there, but for COPIED messages."""
        if self.kind == POINTER:
            return
        warp.block.stores.release()
        while warp.block.under_way:
            warp.sleep(("fence", warp.block))

    def _check(self, dst: int, src: int, nbytes: int) -> None:
        self.memory.holds(src, nbytes)
        self.memory.holds(dst, nbytes)
        if self.memory.is_plain(dst):
            raise Fault(f"a put to {dst}, which is not symmetric memory")

    def _source(self, warp: Any, src: int, nbytes: int) -> np.ndarray:
        """What a put reads: its source as it will be, or as it is now."""
        data = self.memory.bytes[warp.pe][src : src + nbytes]
        if self.kind == COPIED:
            return data.copy()
        if nbytes and self.memory.is_plain(src):
            raise Fault(f"a put by NVSHMEM from {src}, which is a plain array: it must be symmetric or registered")
        return data

    def _send(self, warp: Any, to: int, dst: int, source: np.ndarray, word: int, value: int, line: bool = False) -> None:
        message = Message(self, warp.block, to, dst, source, word, value, line)
        if self.kind != COPIED:
            warp.block.under_way += 1
            self.under_way[warp.pe] += 1
        if self.kind == ANY_ORDER:
            self.scheduler.add(message, self.scheduler.network_bias)
            return
        channel = self._channels[warp.pe, to]
        channel.messages.append(message)
        if len(channel.messages) == 1:
            self.scheduler.add(channel, self.scheduler.network_bias)
