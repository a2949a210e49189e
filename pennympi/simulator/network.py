"""The networks: the ways by which data and signals of a block reach a peer.

POINTER    A put is stores, which become visible in parts and in any order.  A signal is a release: it comes after all
           earlier writes of its block.
IN_ORDER   NVSHMEM carries puts: they arrive later, in order for each pair of PEs, and their source is read on arrival.  A
           fence (NVSHMEM's quiet) waits until all messages of its block have arrived.
ANY_ORDER  As IN_ORDER, but messages arrive in any order.  Only these are ordered: the data of a put_signal before its
           signal, and messages before a fence before those after it.
COPIED     Messages of MPI between hosts: they arrive later, in order for each pair of PEs, with packets.  Their source,
           in any memory, is read at once.  A fence waits for nothing, so it orders only messages to the same PE.

In all networks PEs of a node reach each other by pointer.
"""

from collections import Counter, deque
from typing import Any

import numpy as np

from ..kernels import records
from ..kernels.block import POISON
from .clocks import Clock, Seen, merged
from .faults import Fault
from .memory import Memory
from .scheduler import Scheduler
from .shadow import READ, WRITE

POINTER, IN_ORDER, ANY_ORDER, COPIED = "pointer", "in_order", "any_order", "copied"
NETWORKS = (POINTER, IN_ORDER, ANY_ORDER, COPIED)
COMPONENTS = 8  # components of clocks that a PE's messages use in turn; races within a component are not found


class Stores:
    """Stores of a block through a pointer that other actors do not see yet."""

    def __init__(self, network: "Network", pe: int):
        self.pe, self.priority = pe, 0.0
        self._network = network
        self._parts: list[Any] = []
        self._listed = False

    def add(self, pe: int, dst: int, data: np.ndarray, packet_seen: Seen | None) -> None:
        """Store later, but after earlier stores of this block to the same bytes."""
        stop = dst + len(data)
        for part in [p for p in self._parts if p[0] == pe and p[1] < stop and dst < p[1] + len(p[2])]:
            self._parts.remove(part)
            self._network.land(*part)
        self._parts.append((pe, dst, data, packet_seen))
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
        """Make all stores visible."""
        while self._parts:
            self._network.land(*self._parts.pop())


class Message:
    """A put, a signal, or both, on their way.

    source: bytes, or the address of bytes that the put reads part by part when it arrives
    clock:  clock of its accesses, which come after the sender's earlier ones, and before a fence of the sender
    """

    def __init__(self, network: "Network", warp: Any, to: int, put: tuple[int, Any, int], word: int, value: int):
        dst, source, nbytes = put
        self.pe, self.to, self.priority = warp.pe, to, 0.0
        self._network, self._block, self._dst, self._source = network, warp.block, dst, source
        self._parts = network.scheduler.cuts(nbytes) if nbytes else []
        self._word, self._value, self._line = word, value, warp.line()
        turn = ("message", warp.pe, network.messages % COMPONENTS)
        network.messages += 1
        self.clock = Clock(network.memory.clocks, turn, warp.clock.release())

    def line(self) -> int:
        """Number of the line that sent it."""
        return self._line

    def step(self) -> bool:
        """Land a part; after the last part, set the signal."""
        network = self._network
        if self._parts:
            start, stop = self._parts.pop(0)
            source = self._source
            if isinstance(source, int):
                data = network.memory.read(self, self.pe, source + start, stop - start)
            else:
                data = source[start:stop]
            network.memory.write(self, self.to, self._dst + start, stop - start)
            network.land(self.to, self._dst + start, data, None)
            if self._parts or self._word:
                return True
        if self._word:
            network.set_word(self, self.to, self._word, self._value)
        network.arrived(self._block, self.clock.seen)
        return False


class PacketMessage(Message):
    """Packets on their way.  Each packet lands as a whole, and its receiver polls its epoch."""

    def step(self) -> bool:
        """Land all packets."""
        network = self._network
        network.memory.write(self, self.to, self._dst, len(self._source))
        network.land(self.to, self._dst, self._source, self.clock.seen)
        network.arrived(self._block, self.clock.seen)
        return False


class Channel:
    """Messages from one PE to another, in order.  seen: what the messages that have arrived have seen"""

    def __init__(self, pe: int, scheduler: Scheduler):
        self.pe, self.priority, self.scheduler = pe, 0.0, scheduler
        self.messages: deque[Message] = deque()
        self.seen: Seen | None = None

    def step(self) -> bool:
        message = self.messages[0]
        message.clock.acquire(self.seen)
        if not message.step():
            self.messages.popleft()
            self.seen = message.clock.seen
            if not self.messages:
                self.scheduler.wake(("channel", self))
        return bool(self.messages)


class Network:
    """All links of a team.

    node_of: node of each PE;  sent: {(PE, peer): bytes of its puts};  messages: number of messages so far
    unseen:  {(PE, address): line} of the signals that no wait has seen
    delivered: for each PE, what those of its messages that have arrived have seen
    """

    def __init__(self, kind: str, node_of: tuple[int, ...], memory: Memory, scheduler: Scheduler):
        self.kind, self.node_of, self.memory, self.scheduler = kind, node_of, memory, scheduler
        n = len(node_of)
        self._channels = {(a, b): Channel(a, scheduler) for a in range(n) for b in range(n)}
        self.under_way = [0] * n
        self.gave_up = [False] * n
        self.sent: Counter[tuple[int, int]] = Counter()
        self.unseen: dict[tuple[int, int], int] = {}
        self.delivered: list[Seen | None] = [None] * n
        self.messages = 0

    def by_pointer(self, me: int, pe: int) -> bool:
        """Whether PE ``me`` stores into PE ``pe``'s memory."""
        return self.kind == POINTER or self.node_of[me] == self.node_of[pe]

    def reads_later(self, me: int, pe: int) -> bool:
        """Whether the source of a put of PE ``me`` to PE ``pe`` must stay unchanged after the put has returned."""
        return self.kind in (IN_ORDER, ANY_ORDER) and not self.by_pointer(me, pe)

    def land(self, pe: int, dst: int, data: np.ndarray, packet_seen: Seen | None) -> None:
        """Make data visible.  packet_seen: for a packet, what an actor that reads its epoch has then seen"""
        self.memory.access(None, WRITE, pe, dst, len(data))[:] = data
        if packet_seen is not None:
            self.memory.clocks.words[pe, dst] = packet_seen
            self.scheduler.wake(("line", pe))

    def set_word(self, actor: Any, pe: int, address: int, value: int) -> None:
        """Make a signal word visible.  Raises Race if nothing orders this signal after the word's previous value."""
        self.memory.write(actor, pe, address, 8)
        self.memory.store(pe, address, value)
        self.memory.clocks.words[pe, address] = actor.clock.release()
        self.unseen[pe, address] = actor.line()
        self.scheduler.wake((pe, address))

    def arrived(self, block: Any, seen: Seen) -> None:
        """Note that a message of a block is complete."""
        if self.kind == COPIED:
            return
        block.delivered = merged(block.delivered, seen)
        self.delivered[block.pe] = merged(self.delivered[block.pe], seen)
        block.under_way -= 1
        self.under_way[block.pe] -= 1
        if not block.under_way:
            self.scheduler.wake(("fence", block))
        if not self.under_way[block.pe]:
            self.scheduler.wake(("quiet", block.pe))

    def store(self, warp: Any, pe: int, dst: int, data: np.ndarray, is_packet: bool = False) -> None:
        """Store through a pointer, visible at once or later.  is_packet: the data is a packet, whose epoch is polled"""
        if not self.by_pointer(warp.pe, pe):
            self._send(warp, PacketMessage(self, warp, pe, (dst, data, 0), 0, 0))
            return
        self.memory.write(warp, pe, dst, len(data))
        seen = warp.clock.release() if is_packet else None
        if pe != warp.pe and self.scheduler.random() < self.scheduler.buffered:
            warp.block.stores.add(pe, dst, data, seen)
        else:
            self.land(pe, dst, data, seen)

    def put(self, warp: Any, dst: int, src: int, nbytes: int, pe: int) -> None:
        """Write to a peer, unless this PE has given up, since the peer may still read there."""
        if not nbytes or (self.gave_up[warp.pe] and pe != warp.pe):
            return
        self._check(warp, dst, src, nbytes, pe)
        self.sent[warp.pe, pe] += nbytes
        if not self.by_pointer(warp.pe, pe):
            self._send(warp, Message(self, warp, pe, (dst, self._source(warp, src, nbytes), nbytes), 0, 0))
            return
        for start, stop in self.scheduler.cuts(nbytes):
            self.store(warp, pe, dst + start, self.memory.read(warp, warp.pe, src + start, stop - start).copy())
            warp.pause()

    def put_signal(self, warp: Any, message: records.Message, word: int, value: int) -> None:
        """Send a message that no pointer carries; a PE that has given up sends only the signal."""
        dst, src, nbytes, pe = message
        if self.gave_up[warp.pe]:
            self.signal(warp, word, value, pe)
            return
        if nbytes:
            self._check(warp, dst, src, nbytes, pe)
        self.memory.inside(warp, WRITE, pe, word, 8)
        self._send(warp, Message(self, warp, pe, (dst, self._source(warp, src, nbytes), nbytes), word, value))

    def signal(self, warp: Any, word: int, value: int, pe: int) -> None:
        """Set a word of a peer."""
        self.memory.inside(warp, WRITE, pe, word, 8)
        value = self.poisoned(warp, value)
        if self.by_pointer(warp.pe, pe):
            warp.block.stores.release()
            self.set_word(warp, pe, word, value)
        else:
            self._send(warp, Message(self, warp, pe, (0, 0, 0), word, value))

    def poisoned(self, warp: Any, value: int) -> int:
        """The value that a warp sends for ``value``."""
        return value | POISON if self.gave_up[warp.pe] else value

    def fence(self, warp: Any) -> None:
        """Wait until all messages of the block have arrived, except COPIED messages."""
        if self.kind == POINTER:
            return
        warp.block.stores.release()
        while warp.block.under_way:
            warp.sleep(("fence", warp.block))
        warp.clock.acquire(warp.block.delivered)

    def request(self, warp: Any, pe: int) -> None:
        """Wait until a PE receives a request, which MPI delivers after earlier messages to the PE."""
        if self.kind == COPIED and not self.by_pointer(warp.pe, pe):
            channel = self._channels[warp.pe, pe]
            while channel.messages:
                warp.sleep(("channel", channel))
            warp.clock.acquire(channel.seen)

    def quiet(self, warp: Any) -> None:
        """Wait until all messages of the PE have arrived."""
        while self.under_way[warp.pe]:
            warp.sleep(("quiet", warp.pe))
        warp.clock.acquire(self.delivered[warp.pe])

    def _check(self, warp: Any, dst: int, src: int, nbytes: int, pe: int) -> None:
        self.memory.inside(warp, READ, warp.pe, src, nbytes)
        if self.memory.is_plain(warp.pe, dst):
            raise Fault(f"a put to {self.memory.described(warp.pe, dst)}, which is not symmetric memory")
        self.memory.inside(warp, WRITE, pe, dst, nbytes)

    def _source(self, warp: Any, src: int, nbytes: int) -> Any:
        """The source of a put: its address, or a copy of its bytes."""
        if self.kind == COPIED:
            return self.memory.read(warp, warp.pe, src, nbytes).copy()
        if nbytes and self.memory.is_plain(warp.pe, src):
            what = self.memory.described(warp.pe, src)
            raise Fault(f"a put by NVSHMEM from {what}, which is a plain array: it must be symmetric or registered")
        return src

    def _send(self, warp: Any, message: Message) -> None:
        if self.kind != COPIED:
            warp.block.under_way += 1
            self.under_way[warp.pe] += 1
        if self.kind == ANY_ORDER:
            self.scheduler.add(message, self.scheduler.network_bias)
            return
        channel = self._channels[warp.pe, message.to]
        channel.messages.append(message)
        if len(channel.messages) == 1:
            self.scheduler.add(channel, self.scheduler.network_bias)
