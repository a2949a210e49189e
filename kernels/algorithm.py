"""What a row of an algorithm table is made of."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Place:
    """Where a team runs, as far as an algorithm may care.

    node_of:     of each PE, the number of its node (0, 1, ...); PEs of one node share memory or NVLink
    whole_lines: a 128-byte line written by a warp reaches every peer at once
    multicast:   the switch can add up and copy (NVLink SHARP), and it is allowed
    rail_of:     of each PE, the number of the NIC of its node that its traffic to other nodes
                 takes; NICs of the same number are one switch apart.  (): a NIC a PE
    packets:     algorithms may send packets where lines are whole (PENNYMPI_PACKETS)
    """

    node_of: tuple[int, ...]
    whole_lines: bool = True
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
        nodes = self.nodes
        return self.rail_of or tuple(nodes[node].index(pe) for pe, node in enumerate(self.node_of))


@dataclass(frozen=True)
class Limits:
    """What a plan may use.

    max_blocks: blocks of a launch
    half_bytes: bytes of one parity of one block's inbox.  The halves lie at fixed
                places, whatever the plan: a call of another size may follow at once.
    """

    max_blocks: int
    half_bytes: int


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


@dataclass(frozen=True)
class Algorithm:
    """One row: its name, what it is in a sentence, when it may run, text and plan.

    needs:  preconditions in words, for people; ``refuse`` is the same for programs
    kernel: the text, a plain function over the primitives of ``block.py``
    plan:   (count, item_bytes, acc_bytes, Place, Limits) -> Plan
    signals: Place -> signal words of one block
    refuse: (Place, dtype_name, op) -> reason why it can't run, or ""
    outbox: the text has its puts start from the outbox (else that is scratch and what ``staged`` copies to,
            which a GPU does not need where a pointer reaches every PE)
    ways:   (Place, me) -> the int64 words that the text finds at ``ways``: which PE sends to which (None: none)
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
    refuse: Callable[[Place, str, str], str]
    outbox: bool = True
    ways: Callable[[Place, int], Sequence[int]] | None = None
    copied: Callable[[int, int], int] | None = None
    meet: Callable[..., Any] | None = None
    residual: bool = False


def anywhere(place: Place, dtype: str, op: str) -> str:
    """The ``refuse`` of an algorithm that runs at any PE count, dtype and op, on any link."""
    return ""


def by_packets(place: Place, dtype: str, op: str) -> str:
    """The ``refuse`` of an algorithm whose messages are packets."""
    if not place.whole_lines:
        return "a peer is not on NVLink (or is reached by NVSHMEM's puts), and packets need whole lines"
    return "" if place.packets else "PENNYMPI_PACKETS=0, on this or another PE, turns packets off"


def by_stores(place: Place, dtype: str, op: str) -> str:
    """The ``refuse`` of an algorithm that stores into its peers' memory, without NVSHMEM's puts."""
    return "" if place.whole_lines else "a peer is not on NVLink (or is reached by NVSHMEM's puts), for this PE's stores"


# What the switch gives as this library defines it (place.multicast): of each dtype, the ops.
SWITCH_ADDS = {"float32": ("sum", "avg"), "float16": ("sum",), "bfloat16": ("sum",)}

VECTOR_ELEMS = 16  # pieces are cut at multiples of this, so that 1-byte types keep 16-byte vectors


def cut(count: int, shares: int, max_elems: int) -> int:
    """Elements of one of ``shares`` equal shares of ``count``, a multiple of
    ``VECTOR_ELEMS``, at most ``max_elems`` (and at least one vector)."""
    share = -(-count // shares)
    share = -(-share // VECTOR_ELEMS) * VECTOR_ELEMS
    return max(VECTOR_ELEMS, min(share, max_elems // VECTOR_ELEMS * VECTOR_ELEMS))


def cut_evenly(count: int, shares: int, max_elems: int) -> int:
    """``cut``, with no more in one round than in another: else the first shares get all of a last, short round."""
    rounds = -(-count // (shares * cut(count, shares, max_elems)))
    return cut(-(-count // max(1, rounds)), shares, max_elems)


PACKET_BYTES, PACKET_DATA_BYTES = 128, 120  # a packet, and what it carries beside its epoch
PACKETS_TOGETHER = 4  # packets are written in groups of so many (one warp)
WARP_THREADS, MAX_THREADS = 32, 512  # of a block: every kernel's registers are kept within that
GROUP_DATA_BYTES = PACKETS_TOGETHER * PACKET_DATA_BYTES


def packed_bytes(slot_bytes: int) -> int:
    """Data that a slot of packets can hold, a whole number of vectors."""
    return slot_bytes // (PACKETS_TOGETHER * PACKET_BYTES) * PACKETS_TOGETHER * PACKET_DATA_BYTES // 16 * 16


FEW_WARPS, MANY_WARPS, MOST_WARPS = 4, 8, 12  # of a block of packets, as measured on an H200


def packet_plan(count: int, item_bytes: int, shares: int, slots: int, limits: Limits) -> Plan:
    """A plan for packets of ``count`` elements, of which a block sends one in ``shares`` to each PE.

    slots: of packets, in a half of a block's inbox

    One part of a packet a thread, in small blocks up to about one block a multiprocessor
    (half of ``max_blocks``), then in larger ones; then in all blocks, several parts a thread.
    """
    max_blocks = limits.max_blocks
    largest_elems = packed_bytes(limits.half_bytes // slots // 128 * 128) // item_bytes
    groups = max(1, -(-count * item_bytes // (shares * GROUP_DATA_BYTES)))
    for warps in (FEW_WARPS, MANY_WARPS):
        n_blocks = -(-groups // warps)
        if n_blocks <= max_blocks * 9 // 16:
            break
    else:
        # A block that sends to each PE another chunk does more: few of them are enough for longer.
        n_blocks = max_blocks if shares == 1 or groups > 16 * max_blocks else max(1, max_blocks // 2)
    piece = cut(count, shares * n_blocks, largest_elems)
    warps = min(MOST_WARPS, -(-piece * item_bytes // GROUP_DATA_BYTES))
    return Plan(n_blocks, piece, warps * WARP_THREADS)


# As AllReduce's pieces were measured on H200s: a fence a piece costs about 2 us, and small pieces lose.
PIECES, MIN_PIECE_BYTES, MAX_PIECE_BYTES, MIN_BLOCK_BYTES = 8, 32768, 65536, 16384
PIECE_THREADS = 256  # of a block that puts to several PEs: two fit a multiprocessor, one waits while the other puts


def piece_plan(count: int, item_bytes: int, n_pes: int, shares: int, slots: int, limits: Limits) -> Plan:
    """Blocks of at least 16 KiB; many pieces, so that one is put while one is read, but each hides its fence.

    shares: pieces of a block in one round;  slots: of elements, in a half of a block's inbox
    """
    n_blocks = min(limits.max_blocks, max(1, count * item_bytes // MIN_BLOCK_BYTES))
    share = -(-count // (n_blocks * shares))
    most_elems = min(limits.half_bytes // slots, MAX_PIECE_BYTES) // item_bytes
    piece_elems = cut(count, n_blocks * shares, min(most_elems, max(share // PIECES, MIN_PIECE_BYTES // item_bytes)))
    return Plan(n_blocks, piece_elems, PIECE_THREADS if n_pes > 2 else 0)
