"""What a row of an algorithm table is made of."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Place:
    """Where a team runs, as far as an algorithm may care.

    node_of:     of each PE, the number of its node (0, 1, ...); PEs of one node share memory or NVLink
    ll128_safe: a 128-byte line written by a warp reaches every peer at once
    multicast:   the switch can add up and copy (NVLink SHARP), and it is allowed
    rail_of:     of each PE, the number of the NIC of its node that its traffic to other nodes
                 takes; NICs of the same number are one switch apart.  (): a NIC a PE
    packets:     algorithms may send packets where lines are whole (PENNYMPI_PACKETS)
    """

    node_of: tuple[int, ...]
    ll128_safe: bool = True
    multicast: bool = False
    rail_of: tuple[int, ...] = ()
    packets: bool = True

    @property
    def n_pes(self) -> int:
        """PEs of the team."""
        return len(self.node_of)

    @property
    def nodes(self) -> tuple[tuple[int, ...], ...]:
        """The PEs of each node, in order; a PE's index among them is its local rank."""
        found: list[list[int]] = [[] for _ in range(max(self.node_of) + 1)]
        for pe, node in enumerate(self.node_of):
            found[node].append(pe)
        return tuple(tuple(pes) for pes in found)

    @property
    def rails(self) -> tuple[int, ...]:
        """Of each PE, its rail: what ``rail_of`` says, else its local rank."""
        local_rank = {pe: rank for pes in self.nodes for rank, pe in enumerate(pes)}
        return self.rail_of or tuple(local_rank[pe] for pe in range(self.n_pes))


@dataclass(frozen=True)
class Limits:
    """What a plan may use.

    max_blocks: blocks of a launch
    buffer_bytes: bytes of one parity of one block's inbox.  The halves lie at fixed
                places, whatever the plan: a call of another size may follow at once.
    """

    max_blocks: int
    buffer_bytes: int


@dataclass(frozen=True)
class Plan:
    """How one call of an algorithm is laid out.

    blocks:      grid size
    piece_elems: elements of one message of one block
    threads:     of a block, on a GPU; 0 is the backend's own
    """

    blocks: int
    piece_elems: int
    threads: int = 0


# Of a slot at least, so that a piece of any dtype is whole 16-byte vectors: 16-bit floats have partials of 32 bits,
# and packets are written four at a time.
ELEMENTS, PARTIALS, PACKETS = "elements", "partials", "packets"
LEAST_SLOT_BYTES = {ELEMENTS: 16, PARTIALS: 32, PACKETS: 512}


@dataclass(frozen=True)
class Algorithm:
    """One row: its name, what it is in a sentence, when it may run, text and plan.

    needs:  preconditions in words, for people; ``refuse`` is the same for programs
    kernel: the text, a plain function over the primitives of ``block.py``
    plan:   (count, item_bytes, acc_bytes, Place, Limits) -> Plan
    signals: Place -> signal words of one block
    slots:  (Place, Limits) -> messages that a half of a block's inbox holds a place for
    holds:  what a slot holds: ELEMENTS, PARTIALS or PACKETS
    refuse: (Place, dtype_name, op) -> reason why it can't run, or ""
    outbox: the text has its puts start from the outbox (else that is scratch and what ``staged`` copies to,
            which a GPU does not need where a pointer reaches every PE)
    ways:   (Place, me) -> the int64 words that the text finds at ``routes``: which PE sends to which (None: none)
    copied: (count, n_pes) -> elements of a chunk: when the text is done, chunk ``me`` of out goes to every PE
            by the copy engines, and ``meet`` waits for theirs (None: the text does all)
    meet:   (here, me, n_pes, signals, epochs), the text that ends such a call
    residual: the text has a parameter of that name, an array that it adds to the result (0: none)
    """

    name: str
    sentence: str
    needs: str
    kernel: Callable[..., Any]
    plan: Callable[[int, int, int, Place, Limits], Plan]
    signals: Callable[[Place], int]
    slots: Callable[[Place, Limits], int]
    holds: str
    refuse: Callable[[Place, str, str], str]
    outbox: bool = True
    routes: Callable[[Place, int], Sequence[int]] | None = None
    copied: Callable[[int, int], int] | None = None
    meet: Callable[..., Any] | None = None
    residual: bool = False

    def no_room(self, place: Place, limits: Limits) -> str:
        """Why its slots do not fit in a half of an inbox, or ""."""
        slots, least = self.slots(place, limits), LEAST_SLOT_BYTES[self.holds]
        if slots * least <= limits.buffer_bytes:
            return ""
        return (
            f"at {place.n_pes} PEs its {slots} slots of {least} bytes or more do not fit in the "
            f"{limits.buffer_bytes} bytes that a block's inbox has for an epoch"
        )


def anywhere(place: Place, dtype: str, op: str) -> str:
    """The ``refuse`` of an algorithm that runs at any PE count, dtype and op, on any link."""
    return ""


def by_packets(place: Place, dtype: str, op: str) -> str:
    """The ``refuse`` of an algorithm whose messages are packets."""
    if not place.ll128_safe:
        return "a peer is not on NVLink (or is reached by NVSHMEM's puts), and packets need whole lines"
    if place.n_pes > MOST_PACKET_PES:
        return f"packets need a slot for each PE, and an inbox has room for those of {MOST_PACKET_PES}"
    return "" if place.packets else "PENNYMPI_PACKETS=0, on this or another PE, turns packets off"


def by_stores(place: Place, dtype: str, op: str) -> str:
    """The ``refuse`` of an algorithm that stores into its peers' memory, without NVSHMEM's puts."""
    return "" if place.ll128_safe else "a peer is not on NVLink (or is reached by NVSHMEM's puts), for this PE's stores"


# What the switch gives as this library defines it (place.multicast): of each dtype, the ops.
SWITCH_ADDS = {"float32": ("sum", "avg"), "float16": ("sum",), "bfloat16": ("sum",)}

VECTOR_ELEMS = 16  # pieces are cut at multiples of this, so that 1-byte types keep 16-byte vectors


def cut(count: int, shares: int, max_elems: int) -> int:
    """Elements of one of ``shares`` equal shares of ``count``, at least one vector and at most ``max_elems``.

    A multiple of ``VECTOR_ELEMS``, or where slots are smaller of the largest power of two that they hold: a slot
    that ``no_room`` lets pass holds 16 bytes of any dtype.
    """
    if max_elems < 1:
        raise ValueError("a slot holds no element: the row should have been refused (Algorithm.no_room)")
    vector = min(VECTOR_ELEMS, 1 << (max_elems.bit_length() - 1))
    share = -(-count // shares)
    share = -(-share // vector) * vector
    return max(vector, min(share, max_elems // vector * vector))


def cut_evenly(count: int, shares: int, max_elems: int) -> int:
    """``cut``, with no more in one round than in another: else the first shares get all of a last, short round."""
    rounds = -(-count // (shares * cut(count, shares, max_elems)))
    return cut(-(-count // max(1, rounds)), shares, max_elems)


PACKET_BYTES, PACKET_DATA_BYTES = 128, 120  # a packet, and what it carries beside its epoch
MOST_PACKET_PES = 256  # two_shot_packets has two slots of four packets for each in 256 KiB, the least half of a backend
PACKETS_TOGETHER = 4  # packets are written in groups of so many (one warp)
WARP_THREADS, MAX_THREADS = 32, 512  # of a block: every kernel's registers are kept within that
GROUP_DATA_BYTES = PACKETS_TOGETHER * PACKET_DATA_BYTES


def packed_bytes(slot_bytes: int) -> int:
    """Data that a slot of packets can hold, a whole number of vectors."""
    return slot_bytes // (PACKETS_TOGETHER * PACKET_BYTES) * PACKETS_TOGETHER * PACKET_DATA_BYTES // 16 * 16


# Of a block of packets, as measured on an H200: few warps while there are blocks enough, then at most so many that
# each has a part in every round.
FEW_WARPS, MANY_WARPS, MOST_WARPS = 4, 8, 14


def packet_plan(count: int, item_bytes: int, shares: int, slots: int, limits: Limits) -> Plan:
    """A plan for packets of ``count`` elements, of which a block sends one in ``shares`` to each PE.

    slots: of packets, in a half of a block's inbox

    One part of a packet a thread, in small blocks as long as there are enough of them, then in
    larger ones; then in all blocks, several parts a thread.
    """
    largest_elems = packed_bytes(limits.buffer_bytes // slots // 128 * 128) // item_bytes
    groups = max(1, -(-count * item_bytes // (shares * GROUP_DATA_BYTES)))
    for warps in (FEW_WARPS, MANY_WARPS):
        n_blocks = -(-groups // warps)
        if n_blocks <= limits.max_blocks:
            break
    else:
        n_blocks = limits.max_blocks
    piece = cut_evenly(count, shares * n_blocks, largest_elems)
    groups = -(-piece * item_bytes // GROUP_DATA_BYTES)
    warps = -(-groups // -(-groups // MOST_WARPS))
    return Plan(n_blocks, piece, warps * WARP_THREADS)


# As AllReduce's pieces were measured on H200s: a fence a piece costs about 2 us, and small pieces lose.
PIECES, MIN_PIECE_BYTES, MAX_PIECE_BYTES, MIN_BLOCK_BYTES = 8, 32768, 65536, 16384


def piece_plan(count: int, item_bytes: int, shares: int, slots: int, limits: Limits) -> Plan:
    """Blocks of at least 16 KiB; many pieces, so that one is put while one is read, but each hides its fence.

    shares: pieces of a block in one round;  slots: of elements, in a half of a block's inbox
    """
    n_blocks = min(limits.max_blocks, max(1, count * item_bytes // MIN_BLOCK_BYTES))
    share = -(-count // (n_blocks * shares))
    most_elems = min(limits.buffer_bytes // slots, MAX_PIECE_BYTES) // item_bytes
    piece_elems = cut(count, n_blocks * shares, min(most_elems, max(share // PIECES, MIN_PIECE_BYTES // item_bytes)))
    return Plan(n_blocks, piece_elems)
