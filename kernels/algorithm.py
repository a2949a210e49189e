"""Algorithms as the host sees them: what they may know of a team (``Topology``), and how plans cut a call into pieces."""

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any, NamedTuple


@dataclass(frozen=True)
class Topology:
    """What an algorithm may know about where a team runs.

    node_of:    the node number (0, 1, ...) of each PE; PEs of one node share memory or NVLink
    ll128_safe: a 128-byte line that a warp writes reaches every peer as a whole
    multicast:  the switch can add up and copy (NVLink SHARP), and it is allowed
    rail_of:    the number of the NIC, in its node, that each PE's traffic to other nodes takes; NICs of the same number
                are one switch apart.  (): each PE has a NIC of its own
    packets:    algorithms may send packets where that is LL128-safe (PENNYMPI_PACKETS)
    ll128_in_nodes: such a line reaches the peers of the same node as a whole
    stores:     every PE stores into the memory of every other one by a pointer
    """

    node_of: tuple[int, ...]
    ll128_safe: bool = True
    multicast: bool = False
    rail_of: tuple[int, ...] = ()
    packets: bool = True
    ll128_in_nodes: bool = True
    stores: bool = True

    @property
    def n_pes(self) -> int:
        """PEs of the team."""
        return len(self.node_of)

    @property
    def nodes(self) -> tuple[tuple[int, ...], ...]:
        """The PEs of each node, in order; the position of a PE among them is its local rank."""
        found: list[list[int]] = [[] for _ in range(max(self.node_of) + 1)]
        for pe, node in enumerate(self.node_of):
            found[node].append(pe)
        return tuple(tuple(pes) for pes in found)

    @property
    def n_nodes(self) -> int:
        """Nodes of the team."""
        return len(self.nodes)

    @property
    def largest_node(self) -> int:
        """PEs of the largest node."""
        return max(map(len, self.nodes))

    @property
    def n_rails(self) -> int:
        """NICs of a node."""
        return len(set(self.rails))

    @property
    def rails(self) -> tuple[int, ...]:
        """The rail of each PE: ``rail_of``, or its local rank where that is empty."""
        local_rank = {pe: rank for pes in self.nodes for rank, pe in enumerate(pes)}
        return self.rail_of or tuple(local_rank[pe] for pe in range(self.n_pes))


@dataclass(frozen=True)
class Limits:
    """What a plan may use.

    max_blocks:   thread blocks of a launch, at most
    buffer_bytes: size of one of the two buffers in a block's inbox.  Buffers lie at fixed addresses whatever the plan
                  is, so that a call of another size may follow at once.
    """

    max_blocks: int
    buffer_bytes: int


@dataclass(frozen=True)
class Plan:
    """How one call is split over blocks and messages.

    blocks:      thread blocks of the launch
    piece_elems: elements of one message of one block
    threads:     threads of a block on a GPU; 0: the backend's default
    """

    blocks: int
    piece_elems: int
    threads: int = 0


class ToCut(NamedTuple):
    """What a plan cuts, and into what.

    n_elems:         elements of a PE's vector, or part
    item_bytes:      bytes of an element;  slot_item_bytes: of an element in a slot
    shares:          equal shares of the vector; a block handles a piece of each in a round
    slots:           in one buffer of a block's inbox
    """

    n_elems: int
    item_bytes: int
    slot_item_bytes: int
    shares: int
    slots: int
    topology: Topology
    limits: Limits

    def blocks(self, least_bytes: int) -> int:
        """As many blocks as can have ``least_bytes`` each."""
        return min(self.limits.max_blocks, max(1, self.n_elems * self.item_bytes // least_bytes))

    def slot_elems(self) -> int:
        """Elements that fit into a slot."""
        return self.limits.buffer_bytes // (self.slots * self.slot_item_bytes)


# The least size of a slot, so that a piece of any dtype is whole 16-byte vectors: 16-bit floats have partials of 32
# bits, and packets are written four at a time.
ELEMENTS, PARTIALS, PACKETS, HEAD_AND_PACKETS = "elements", "partials", "packets", "a head in packets, and packets"
LEAST_SLOT_BYTES = {ELEMENTS: 16, PARTIALS: 32, PACKETS: 512, HEAD_AND_PACKETS: 1024}
ROUND_ONCE, ROUND_TWICE = "rounded with the sum", "the sum is rounded first"  # how a residual is added


def per_pe(k: int) -> Callable[..., int]:
    """(topology, ...) -> k for each PE."""
    return lambda topology, *rest: k * topology.n_pes


def per_peer(k: int) -> Callable[..., int]:
    """(topology, ...) -> k for each PE but one."""
    return lambda topology, *rest: k * (topology.n_pes - 1)


def runs_anywhere(topology: Topology, dtype: str, op: str) -> None:
    """The ``why_not`` of an algorithm that runs at any PE count, dtype and op, on any link."""


@dataclass(frozen=True)
class Algorithm:
    """An algorithm of a collective.  Its name is its kernel's, and its sentence the first line of its file.

    kernel:     a plain function over the primitives of ``block.py`` (see ``records.py`` for its parameters)
    cut:        a function of ``plans.py`` that makes its plan
    slots:      (topology, limits) -> slots that one buffer of a block's inbox is cut into
    holds:      what a slot holds: ELEMENTS, PARTIALS, PACKETS or HEAD_AND_PACKETS
    signals:    topology -> signal words of one block; None: two for each slot
    shares:     topology -> shares of the vector (see ToCut)
    why_not:    (topology, dtype_name, op) -> why it can't run there, or None
    outbox:     its puts start from the outbox.  If False, the outbox is scratch and memory for ``stage_for_put``, which a
                GPU does not need where a pointer reaches every PE
    peer_table: (topology, me) -> int64 words that the kernel reads with ``read_peer``: which PE sends to which; or None
    copied:     (count, n_pes) -> elements of a chunk: after the kernel the copy engines send chunk ``me`` of out to every
                PE, and ``meet`` waits for the copies of the others; None: the kernel does all
    meet:       the kernel, of a PE and the workspace, that ends such a call
    residual:   how the kernel adds ``Reduction.residual``: ROUND_ONCE or ROUND_TWICE; "": it does not
    cost_us:    (size, topology, machine) -> us of a call, by the counts of ``cost.py``; None: it is not chosen by cost
    canonical:  an element's values are added one after another in the order of the PEs, in the type of partials, and the
                sum is rounded once: its bits depend on nothing but them
    """

    kernel: Callable[..., Any]
    cut: Callable[[ToCut], Plan]
    slots: Callable[[Topology, Limits], int]
    holds: str
    signals: Callable[[Topology], int] | None = None
    shares: Callable[[Topology], int] = lambda topology: 1
    why_not: Callable[[Topology, str, str], str | None] = runs_anywhere
    outbox: bool = True
    peer_table: Callable[[Topology, int], Sequence[int]] | None = None
    copied: Callable[[int, int], int] | None = None
    meet: Callable[..., Any] | None = None
    residual: str = ""
    cost_us: Callable[..., float] | None = None
    canonical: bool = False

    @property
    def name(self) -> str:
        """The name by which users choose it."""
        return self.kernel.__name__

    @property
    def sentence(self) -> str:
        """What it does."""
        text = sys.modules[self.kernel.__module__].__doc__ or ""
        return text.partition("\n")[0].partition(": ")[2].rstrip(".")

    def signal_words(self, topology: Topology, limits: Limits) -> int:
        """Signal words of one block."""
        return self.signals(topology) if self.signals else 2 * self.slots(topology, limits)

    def plan(self, count: int, item_bytes: int, acc_bytes: int, topology: Topology, limits: Limits) -> Plan:
        """How a call of ``count`` elements is split, which have acc_bytes as partials."""
        slot_item_bytes = acc_bytes if self.holds == PARTIALS else item_bytes
        shares, slots = self.shares(topology), self.slots(topology, limits)
        return self.cut(ToCut(count, item_bytes, slot_item_bytes, shares, slots, topology, limits))

    def too_large(self, topology: Topology, limits: Limits) -> str | None:
        """Why its slots do not fit into a buffer of an inbox, or None."""
        slots, least = self.slots(topology, limits), LEAST_SLOT_BYTES[self.holds]
        if slots * least <= limits.buffer_bytes:
            return None
        return (
            f"at {topology.n_pes} PEs its {slots} slots of {least} bytes or more do not fit in the "
            f"{limits.buffer_bytes} bytes that a block's inbox has for an epoch"
        )


def table(folder: str, *names: str) -> dict[str, Algorithm]:
    """The algorithms of a folder by name; each has a file of its name."""
    return {name: import_module(f".{name}", folder).ALGORITHM for name in names}


def requires_ll128(topology: Topology, dtype: str, op: str) -> str | None:
    """The ``why_not`` of an algorithm whose messages are packets."""
    if not topology.ll128_safe:
        return "a peer is not on NVLink (or is reached by NVSHMEM's puts), and packets need LL128-safe links"
    if topology.n_pes > MOST_PACKET_PES:
        return f"packets need a slot for each PE, and an inbox has room for those of {MOST_PACKET_PES}"
    return _allowed(topology)


def requires_ll128_in_nodes(topology: Topology) -> str | None:
    """Why packets can't run inside the nodes, or None."""
    if not topology.ll128_in_nodes:
        return "a peer of the same node is not on NVLink (or is reached by NVSHMEM's puts)"
    return _allowed(topology)


def _allowed(topology: Topology) -> str | None:
    """Why no packets are sent where they could be, or None."""
    return None if topology.packets else "PENNYMPI_PACKETS=0, on this or another PE, turns packets off"


def requires_p2p(topology: Topology, dtype: str, op: str) -> str | None:
    """The ``why_not`` of an algorithm that stores into its peers' memory, without NVSHMEM's puts."""
    return None if topology.stores else "no pointer reaches a peer, for this PE's stores: NVSHMEM's puts do"


# The ops of each dtype for which the switch (topology.multicast) gives what this library defines.
SWITCH_ADDS = {"float32": ("sum", "avg"), "float16": ("sum",), "bfloat16": ("sum",)}

MOST_PACKET_PES = 256  # two_shot_packets has two slots of four packets for each in 256 KiB, a backend's least buffer
WARP_THREADS, MAX_THREADS = 32, 512  # MAX_THREADS: of a block; registers are allocated for that
