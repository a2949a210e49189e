"""How what a block sends reaches a peer.

POINTER    a put is stores, which become visible in parts and in any order; a signal is a release: it comes after
           all that its block has written
IN_ORDER   puts that NVSHMEM carries: they arrive later, in order for each pair of PEs, and their source is read
           only then; a fence (NVSHMEM's quiet) waits until all that its block has sent is there
ANY_ORDER  the same, but messages arrive in any order: the data of a put_signal before its signal, and what is
           behind a fence after what is before it; nothing else is ordered

PEs of one node reach each other by pointer in all three.
"""

from collections import deque
from typing import Any

import numpy as np

from .faults import Fault
from .memory import POISON, Memory
from .scheduler import Scheduler

POINTER, IN_ORDER, ANY_ORDER = "pointer", "in_order", "any_order"
NETWORKS = (POINTER, IN_ORDER, ANY_ORDER)


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
    """A put, a signal, or both, under way by NVSHMEM.  Its source is read when it arrives."""

    def __init__(self, network: "Network", block: Any, to: int, parts: list, word: int, value: int):
        self.pe, self.to, self.priority = block.pe, to, 0.0
        self._network, self._block, self._parts, self._word, self._value = network, block, parts, word, value

    def step(self) -> bool:
        """Land one part; the signal after the last."""
        network = self._network
        if self._parts:
            src, dst, nbytes = self._parts.pop(0)
            memory = network.memory.bytes
            network.land(self.to, dst, memory[self.pe][src : src + nbytes], False)
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
    """All links of a team.  node_of: of each PE, its node."""

    def __init__(self, kind: str, node_of: tuple[int, ...], memory: Memory, scheduler: Scheduler):
        self.kind, self.node_of, self.memory, self.scheduler = kind, node_of, memory, scheduler
        n = len(node_of)
        self._channels = {(a, b): Channel(a) for a in range(n) for b in range(n)}
        self.under_way = [0] * n
        self.gave_up = [False] * n

    def by_pointer(self, me: int, pe: int) -> bool:
        """Whether PE ``me`` stores into PE ``pe``'s memory."""
        return self.kind == POINTER or self.node_of[me] == self.node_of[pe]

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
        block.under_way -= 1
        self.under_way[block.pe] -= 1
        if not block.under_way:
            self.scheduler.wake(block)
        if not self.under_way[block.pe]:
            self.scheduler.wake(("quiet", block.pe))

    def store(self, block: Any, pe: int, dst: int, data: np.ndarray, line: bool = False) -> None:
        """Store through a pointer, visible now or later.  line: whole, and looked for by its epoch."""
        if pe != block.pe and self.scheduler.random() < self.scheduler.buffered:
            block.stores.add(pe, dst, data, line)
        else:
            self.land(pe, dst, data, line)

    def put(self, block: Any, dst: int, src: int, nbytes: int, pe: int) -> None:
        """Write to a peer, unless this PE has given up, for the peer may still read there."""
        if not nbytes or (self.gave_up[block.pe] and pe != block.pe):
            return
        self._check(dst, src, nbytes)
        if not self.by_pointer(block.pe, pe):
            self._send(block, pe, dst, src, nbytes, 0, 0)
            return
        own = self.memory.bytes[block.pe]
        for start, stop in self.scheduler.cuts(nbytes):
            self.store(block, pe, dst + start, own[src + start : src + stop].copy())
            block.pause()

    def put_signal(self, block: Any, dst: int, src: int, nbytes: int, word: int, value: int, pe: int) -> None:
        """Write to a peer, then set its word."""
        if self.by_pointer(block.pe, pe) or self.gave_up[block.pe]:
            self.put(block, dst, src, nbytes, pe)
            self.signal(block, word, value, pe)
            return
        if nbytes:
            self._check(dst, src, nbytes)
        self.memory.holds(word, 8)
        self._send(block, pe, dst, src, nbytes, word, value)

    def signal(self, block: Any, word: int, value: int, pe: int) -> None:
        """Set a word of a peer."""
        self.memory.holds(word, 8)
        value = self.poisoned(block, value)
        if self.by_pointer(block.pe, pe):
            block.stores.release()
            self.set_word(pe, word, value)
        else:
            self._send(block, pe, 0, 0, 0, word, value)

    def poisoned(self, block: Any, value: int) -> int:
        """What a block sends for a value."""
        return value | POISON if self.gave_up[block.pe] else value

    def fence(self, block: Any) -> None:
        """Wait until all that the block has sent is there."""
        if self.kind == POINTER:
            return
        block.stores.release()
        while block.under_way:
            block.sleep(block)

    def _check(self, dst: int, src: int, nbytes: int) -> None:
        self.memory.holds(src, nbytes)
        self.memory.holds(dst, nbytes)
        if self.memory.is_plain(dst):
            raise Fault(f"a put to {dst}, which is not symmetric memory")

    def _send(self, block: Any, to: int, dst: int, src: int, nbytes: int, word: int, value: int) -> None:
        if nbytes and self.memory.is_plain(src):
            raise Fault(f"a put by NVSHMEM from {src}, which is a plain array: it must be symmetric or registered")
        scheduler = self.scheduler
        parts = [(src + a, dst + a, b - a) for a, b in scheduler.cuts(nbytes)] if nbytes else []
        message = Message(self, block, to, parts, word, value)
        block.under_way += 1
        self.under_way[block.pe] += 1
        if self.kind == ANY_ORDER:
            scheduler.add(message, scheduler.network_bias)
            return
        channel = self._channels[block.pe, to]
        channel.messages.append(message)
        if len(channel.messages) == 1:
            scheduler.add(channel, scheduler.network_bias)
