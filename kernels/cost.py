"""The time of a call on a machine, by counts of an algorithm's work, which its file has (``cost_us``).

The model is Hockney's alpha and beta, with gamma for the arithmetic, as in Thakur, Rabenseifner and Gropp (2005), and a
cost for each message as in LogP.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from .algorithm import Topology


class Size(NamedTuple):
    """The size of a call and of its pieces.

    n_elems:     number of elements of the vector;  item_bytes, acc_bytes: bytes of an element, of a partial
    block_elems: number of elements of a piece of every block together: blocks * piece_elems
    """

    n_elems: int
    item_bytes: int
    acc_bytes: int
    block_elems: int

    @property
    def nbytes(self) -> int:
        """Bytes of the vector."""
        return self.n_elems * self.item_bytes

    @property
    def widening(self) -> int:
        """Bytes of a partial / bytes of an element: 2 for the 16-bit floats, else 1."""
        return self.acc_bytes // self.item_bytes

    def rounds(self, pieces: int) -> int:
        """Number of rounds of a block that handles ``pieces`` pieces of the vector in each round."""
        return -(-self.n_elems // (self.block_elems * pieces))


class Counts(NamedTuple):
    """Counts of an algorithm's work in a call.

    rounds:   number of rounds of a block
    near_steps, net_steps: latency steps of a round inside nodes, and between nodes
    messages: number of messages that a PE sends in a round;  signals: number of signals that are messages by themselves
    sent:     bytes that a PE sends inside its node;  nic: bytes that the busiest NIC sends
    moved, added: bytes that a PE copies, and that it reduces, in its own memory
    packets:  True if messages are packets;  overlaps: True if a round begins before the previous round has ended
    """

    rounds: int
    near_steps: float
    net_steps: float
    messages: float
    sent: float
    nic: float
    moved: float = 0
    added: float = 0
    signals: float = 0
    packets: bool = False
    overlaps: bool = False


class Shots(NamedTuple):
    """n shots, in each of which every PE sends to every other PE.  packets, overlaps: as in ``Counts``"""

    n: int
    packets: bool
    overlaps: bool


@dataclass(frozen=True)
class Machine:
    """Constants of a kind of device and its links, in microseconds and in GB/s (1e9 bytes per second).

    launch_us:   cost of every call;  message_us: cost of every message that a PE sends
    signal_us:   cost of a signal that is a message by itself
    step_us, packet_step_us: time from a put until the peer has seen its signal, and from a packet's store to its load
    sent_gb_s, packet_gb_s: rate at which a PE sends data inside its node, in one direction, by puts and by packets
    moved_gb_s, added_gb_s: rate at which a PE copies and reduces in its own memory, when no link hides the time
    net_step_us, nic_gb_s:   time of a put to another node, and rate of one NIC in one direction
    source:      origin of the numbers
    shared_out:  {algorithm: least bytes at which it is the fastest}, the largest first, for plans whose ``out`` is the
                 same symmetric array on every PE
    """

    name: str
    launch_us: float
    message_us: float
    step_us: float
    packet_step_us: float
    sent_gb_s: float
    packet_gb_s: float
    moved_gb_s: float
    added_gb_s: float
    net_step_us: float
    nic_gb_s: float
    source: str
    signal_us: float = 0
    shared_out: Mapping[str, int] = field(default_factory=dict)

    def call_us(self, call: Counts) -> float:
        """Time of a call in microseconds."""
        step_us, gb_s = (self.packet_step_us, self.packet_gb_s) if call.packets else (self.step_us, self.sent_gb_s)
        return (
            self.launch_us
            + (1 if call.overlaps else call.rounds) * (call.near_steps * step_us + call.net_steps * self.net_step_us)
            + call.rounds * (call.messages * self.message_us + call.signals * self.signal_us)
            + (call.sent / gb_s + call.nic / self.nic_gb_s) / 1e3
            + (call.moved / self.moved_gb_s + call.added / self.added_gb_s) / 1e3
        )


def shots_us(size: Size, topology: Topology, machine: Machine, shots: Shots) -> float:
    """Time of one shot of the whole vector, or of two shots of a chunk for each PE."""
    one_shot, n, largest, one_node = shots.n == 1, topology.n_pes, topology.largest_node, topology.n_nodes == 1
    to_each = size.nbytes if one_shot else 2 * size.nbytes / n
    chunks = (n - 1) / n * size.nbytes
    return machine.call_us(Counts(
        rounds=size.rounds(1 if one_shot else n), near_steps=shots.n * one_node, net_steps=shots.n * (not one_node),
        messages=shots.n * (n - 1), sent=(largest - 1) * to_each,
        nic=(n - largest) * to_each * largest / topology.n_rails, moved=0 if one_shot else chunks,
        added=(n - 1) * size.nbytes if one_shot else chunks, signals=0 if shots.packets else shots.n * (n - 1),
        packets=shots.packets, overlaps=shots.overlaps,
    ))  # fmt: skip


def ring_us(size: Size, topology: Topology, machine: Machine, n_rings: int) -> float:
    """Time of rings of 2 (n-1) steps, which carry partials, then elements; in a step each node sends one message out."""
    n, n_nodes = topology.n_pes, topology.n_nodes
    crossings = n_nodes if n_nodes > 1 else 0
    carried = (1 + size.widening) * (n - 1) / n * size.nbytes
    return machine.call_us(Counts(
        rounds=size.rounds(n), near_steps=2 * (n - 1) * (n - crossings) / n, net_steps=2 * (n - 1) * crossings / n,
        messages=2 * (n - 1), sent=carried, nic=carried / n_rings if n_nodes > 1 else 0, moved=(n + 1) / n * size.nbytes,
        added=(n - 1) / n * size.nbytes,
    ))  # fmt: skip
