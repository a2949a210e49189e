"""Algorithms as the host sees them: the facts about a team that they may use (``Topology``), and the plans of calls."""

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any, NamedTuple


@dataclass(frozen=True)
class Topology:
    """The facts that an algorithm may use about the machines of a team.

    node_of:    the node number (0, 1, ...) of each PE; PEs of one node share memory or NVLink
    ll128_safe: a 128-byte line that a warp writes reaches every peer as a whole
    multicast:  the switch can add up and copy (NVLink SHARP), and PENNYMPI_MULTICAST allows it
    rail_of:    for each PE, index in its node of the NIC that carries its traffic to other nodes; NICs of the same index
                are one switch apart.  (): each PE has its own NIC
    packets:    algorithms may send packets over LL128-safe links (PENNYMPI_PACKETS)
    ll128_in_nodes: a 128-byte line reaches the peers of the same node as a whole
    stores:     every PE can store into the memory of every other PE through a pointer
    """

    node_of: tuple[int, ...]
    ll128_safe: bool = True
    multicast: bool = False
    rail_of: tuple[int, ...] = ()
    packets: bool = True
    ll128_in_nodes: bool = True
    stores: bool = True

    def packets_between(self, pe: int, peer: int) -> bool:
        """Whether packets may go between two PEs, each of which stores into the other's memory."""
        same_node = self.node_of[pe] == self.node_of[peer]
        return self.packets and (self.ll128_safe or (self.ll128_in_nodes and same_node))

    @property
    def n_pes(self) -> int:
        """Number of PEs of the team."""
        return len(self.node_of)

    @property
    def nodes(self) -> tuple[tuple[int, ...], ...]:
        """The PEs of each node, in order; the index of a PE in its node is its local rank."""
        nodes: list[list[int]] = [[] for _ in range(max(self.node_of) + 1)]
        for pe, node in enumerate(self.node_of):
            nodes[node].append(pe)
        return tuple(tuple(pes) for pes in nodes)

    @property
    def n_nodes(self) -> int:
        """Number of nodes of the team."""
        return len(self.nodes)

    @property
    def largest_node(self) -> int:
        """Number of PEs of the largest node."""
        return max(map(len, self.nodes))

    @property
    def n_rails(self) -> int:
        """Number of NICs of a node."""
        return len(set(self.rails))

    @property
    def rails(self) -> tuple[int, ...]:
        """The rail of each PE: ``rail_of``, or the PE's local rank if ``rail_of`` is empty."""
        local_rank = {pe: rank for pes in self.nodes for rank, pe in enumerate(pes)}
        return self.rail_of or tuple(local_rank[pe] for pe in range(self.n_pes))


@dataclass(frozen=True)
class Limits:
    """The resources that a plan may use.

    max_blocks:   most thread blocks of a launch
    buffer_bytes: size of one of the two buffers in a block's inbox.  The plan does not change the addresses of buffers,
                  so that a call of another size may follow at once.
    """

    max_blocks: int
    buffer_bytes: int


@dataclass(frozen=True)
class Plan:
    """The division of a call into blocks and messages.

    blocks:      number of thread blocks of the launch
    piece_elems: number of elements in a message of a block
    threads:     number of threads of a block on a GPU; 0: the backend's default
    """

    blocks: int
    piece_elems: int
    threads: int = 0


class ToCut(NamedTuple):
    """The call that a plan divides.

    n_elems:         number of elements of a PE's vector, or part
    item_bytes:      bytes of an element;  slot_item_bytes: bytes of an element in a slot
    shares:          number of equal shares of the vector; in a round a block handles a piece of each share
    slots:           number of slots in a buffer of a block's inbox
    """

    n_elems: int
    item_bytes: int
    slot_item_bytes: int
    shares: int
    slots: int
    topology: Topology
    limits: Limits

    def blocks(self, least_bytes: int) -> int:
        """The most blocks that can have ``least_bytes`` each."""
        return min(self.limits.max_blocks, max(1, self.n_elems * self.item_bytes // least_bytes))

    def slot_elems(self) -> int:
        """Number of elements that fit into a slot."""
        return self.limits.buffer_bytes // (self.slots * self.slot_item_bytes)


# The least size of a slot.  A piece is a multiple of 16 bytes, whose partials have twice as many bytes for 16-bit floats;
# a warp writes four packets at once.
ELEMENTS, PARTIALS, PACKETS, HEAD_AND_PACKETS = "elements", "partials", "packets", "a head in packets, and packets"
LEAST_SLOT_BYTES = {ELEMENTS: 16, PARTIALS: 32, PACKETS: 512, HEAD_AND_PACKETS: 1024}
ROUND_ONCE, ROUND_TWICE = "rounded with the sum", "the sum is rounded first"  # ways to add a residual


def per_pe(k: int) -> Callable[..., int]:
    """A function (topology, ...) -> k times the number of PEs."""
    return lambda topology, *options: k * topology.n_pes


def per_peer(k: int) -> Callable[..., int]:
    """A function (topology, ...) -> k times the number of peers of a PE."""
    return lambda topology, *options: k * (topology.n_pes - 1)


def runs_anywhere(topology: Topology, dtype: str, op: str) -> None:
    """``why_not`` of an algorithm that runs at any PE count, dtype and op, on any link."""


@dataclass(frozen=True)
class Algorithm:
    """An algorithm of a collective.  Its name is the name of its kernel, and its sentence is the first line of its file.

    kernel:     a plain function over the primitives of ``block.py`` (see ``records.py`` for its parameters)
    cut:        function that makes the plan, such as those of ``plans.py``
    slots:      (topology, limits) -> number of slots in a buffer of a block's inbox
    holds:      contents of a slot: ELEMENTS, PARTIALS, PACKETS or HEAD_AND_PACKETS
    signals:    topology -> number of signal words of a block; None: two for each slot
    shares:     topology -> number of shares of the vector (see ToCut)
    why_not:    (topology, dtype_name, op) -> the reason why the algorithm can't run, or None
    outbox:     True: puts start from the outbox.  False: the outbox is scratch and memory for ``stage_for_put``; a GPU
                allocates none if a pointer reaches every PE
    peer_table: (topology, me) -> int64 words that the kernel reads with ``read_peer``: senders and receivers; or None
    copied:     (count, n_pes) -> elements of a chunk: after the kernel the copy engines send chunk ``me`` of out to every
                PE, and ``meet`` waits for the copies of its peers; None: the kernel sends everything
    meet:       kernel (PE, workspace) that ends a call with ``copied``
    residual:   rounding of the sum with ``Reduction.residual``: ROUND_ONCE or ROUND_TWICE; "": no residual is possible
    cost_us:    (size, topology, machine) -> us of a call, by the counts of ``cost.py``; None: no choice by cost
    canonical:  True if the kernel adds the PEs' values of an element one after another in the order of the PEs, in the
                type of partials, and rounds the sum once: its bits depend on the values alone
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
        """The name by which users choose the algorithm."""
        return self.kernel.__name__

    @property
    def sentence(self) -> str:
        """The sentence that says what the algorithm does."""
        text = sys.modules[self.kernel.__module__].__doc__ or ""
        return text.partition("\n")[0].partition(": ")[2].rstrip(".")

    def signal_words(self, topology: Topology, limits: Limits) -> int:
        """Number of signal words of a block."""
        return self.signals(topology) if self.signals else 2 * self.slots(topology, limits)

    def plan(self, count: int, item_bytes: int, acc_bytes: int, topology: Topology, limits: Limits) -> Plan:
        """The plan of a call of ``count`` elements.  acc_bytes: bytes of a partial"""
        slot_item_bytes = acc_bytes if self.holds == PARTIALS else item_bytes
        shares, slots = self.shares(topology), self.slots(topology, limits)
        return self.cut(ToCut(count, item_bytes, slot_item_bytes, shares, slots, topology, limits))

    def too_large(self, topology: Topology, limits: Limits) -> str | None:
        """The reason why the slots do not fit into a buffer of an inbox, or None."""
        slots, least = self.slots(topology, limits), LEAST_SLOT_BYTES[self.holds]
        if slots * least <= limits.buffer_bytes:
            return None
        return (
            f"at {topology.n_pes} PEs its {slots} slots of {least} bytes or more do not fit in the "
            f"{limits.buffer_bytes} bytes that a block's inbox has for an epoch"
        )


def table(folder: str, *names: str) -> dict[str, Algorithm]:
    """The algorithms of a folder by name; the file of an algorithm has the same name."""
    return {name: import_module(f".{name}", folder).ALGORITHM for name in names}


def requires_ll128(topology: Topology, dtype: str, op: str) -> str | None:
    """``why_not`` of an algorithm whose messages are packets."""
    if not topology.ll128_safe:
        return "a peer is not on NVLink (or is reached by NVSHMEM's puts), and packets need LL128-safe links"
    if topology.n_pes > MOST_PACKET_PES:
        return f"packets need a slot for each PE, and an inbox has room for {MOST_PACKET_PES} PEs"
    return _allowed(topology)


def requires_ll128_in_nodes(topology: Topology) -> str | None:
    """The reason why packets can't run inside the nodes, or None."""
    if not topology.ll128_in_nodes:
        return "a peer of the same node is not on NVLink (or is reached by NVSHMEM's puts)"
    return _allowed(topology)


def _allowed(topology: Topology) -> str | None:
    """The reason why packets are turned off, or None."""
    return None if topology.packets else "PENNYMPI_PACKETS=0, on this or another PE, turns packets off"


def requires_p2p(topology: Topology, dtype: str, op: str) -> str | None:
    """``why_not`` of an algorithm that stores into its peers' memory through pointers."""
    return None if topology.stores else "no pointer reaches some peer: only NVSHMEM's puts reach it"


# The ops, by dtype, for which the switch (topology.multicast) computes the same result as this library.
SWITCH_ADDS = {"float32": ("sum", "avg"), "float16": ("sum",), "bfloat16": ("sum",)}

MOST_PACKET_PES = 256  # two_shot_packets has two slots of four packets for each PE in 256 KiB, the least buffer
WARP_THREADS, MAX_THREADS = 32, 512  # MAX_THREADS: threads of a block, for which registers are allocated
