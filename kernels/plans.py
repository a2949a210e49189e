"""Functions that divide a call into blocks and pieces, and the fields that algorithms with the same plan share."""

from functools import partial

from .algorithm import ELEMENTS, PACKETS, WARP_THREADS, Algorithm, Plan, ToCut, per_pe, requires_ll128, requires_p2p
from .packets import GROUP_DATA_BYTES, PACKET_BYTES, PACKETS_TOGETHER

VECTOR_ELEMS = 16  # the elements of a piece are a multiple of this: whole 16-byte vectors of any dtype


def cut(count: int, shares: int, max_elems: int) -> int:
    """Elements of each of ``shares`` equal shares of ``count``, at least one vector and at most ``max_elems``.

    The number is a multiple of ``VECTOR_ELEMS``, or of the largest power of two that fits into ``max_elems`` if that
    is smaller: a slot that ``too_large`` accepts holds 16 bytes of any dtype.
    """
    if max_elems < 1:
        raise ValueError("a slot holds no element: Algorithm.too_large should have refused the algorithm")
    vector = min(VECTOR_ELEMS, 1 << (max_elems.bit_length() - 1))
    share = -(-count // shares)
    share = -(-share // vector) * vector
    return max(vector, min(share, max_elems // vector * vector))


def cut_evenly(count: int, shares: int, max_elems: int) -> int:
    """``cut`` into rounds of equal size; with a short last round, the first shares would be larger than the others."""
    rounds = -(-count // (shares * cut(count, shares, max_elems)))
    return cut(-(-count // max(1, rounds)), shares, max_elems)


def packed_bytes(slot_bytes: int) -> int:
    """Bytes of data that a slot of packets can hold, a multiple of 16."""
    return slot_bytes // (PACKETS_TOGETHER * PACKET_BYTES) * GROUP_DATA_BYTES // 16 * 16


# Warps of a block that sends packets, as measured on an H200: FEW_WARPS while a launch may have more blocks, then
# MANY_WARPS, and MOST_WARPS if each warp writes several parts.
FEW_WARPS, MANY_WARPS, MOST_WARPS = 4, 8, 14


def packet_plan(call: ToCut) -> Plan:
    """A plan for packets.  Each thread writes one part of a packet, in small blocks, then in larger blocks when
    max_blocks is reached.  For still larger calls each thread writes several parts."""
    limits, item_bytes = call.limits, call.item_bytes
    largest_elems = packed_bytes(limits.buffer_bytes // call.slots // PACKET_BYTES * PACKET_BYTES) // item_bytes
    groups = max(1, -(-call.n_elems * item_bytes // (call.shares * GROUP_DATA_BYTES)))
    n_blocks = -(-groups // FEW_WARPS)
    if n_blocks > limits.max_blocks:
        n_blocks = min(-(-groups // MANY_WARPS), limits.max_blocks)
    piece = cut_evenly(call.n_elems, call.shares * n_blocks, largest_elems)
    return Plan(n_blocks, piece, threads_for(-(-piece * item_bytes // GROUP_DATA_BYTES)))


def threads_for(n_parts: int) -> int:
    """Threads of a block whose warps write ``n_parts`` parts in turn: all warps write the same number, or one more."""
    return -(-n_parts // -(-n_parts // MOST_WARPS)) * WARP_THREADS


def slots_plan(call: ToCut) -> Plan:
    """Blocks of at least 4 KiB in each share, and the largest pieces that a slot holds."""
    n_blocks = call.blocks(call.shares * 4096)
    return Plan(n_blocks, cut(call.n_elems, call.shares * n_blocks, call.slot_elems()))


def pipeline_plan(call: ToCut) -> Plan:
    """Blocks of at least 4 KiB in pieces of a quarter of their share, so that the PEs work at the same time."""
    n_blocks = call.blocks(4096)
    share_bytes = call.n_elems * call.slot_item_bytes // n_blocks
    piece_bytes = min(call.limits.buffer_bytes, max(4096, share_bytes // 4))
    return Plan(n_blocks, cut(call.n_elems, n_blocks, piece_bytes // call.slot_item_bytes))


# As measured on H200s for AllReduce: a piece's fence costs about 2 us, so small pieces are slower.
MIN_BLOCK_BYTES, MIN_PIECE_BYTES, MAX_PIECE_BYTES = 16384, 16384, 65536


def piece_plan(
    call: ToCut, pieces: int = 8, min_piece_bytes: int = 32768, max_piece_bytes: int = MAX_PIECE_BYTES
) -> Plan:
    """Blocks of at least 16 KiB in several pieces: a block puts a piece while it reads the piece before, and each
    piece is large enough to hide its fence."""
    n_blocks = call.blocks(MIN_BLOCK_BYTES)
    share = -(-call.n_elems // (n_blocks * call.shares))
    wanted = max(share // pieces, min_piece_bytes // call.item_bytes)
    most = min(call.slot_elems(), max_piece_bytes // call.slot_item_bytes)
    return Plan(n_blocks, cut(call.n_elems, n_blocks * call.shares, min(most, wanted)))


# The fields that algorithms with packets share, and those that algorithms share which store pieces into peers' memory.
packet_algorithm = partial(
    Algorithm, cut=packet_plan, signals=lambda topology: 1, slots=per_pe(1), holds=PACKETS, outbox=False,
    why_not=requires_ll128,
)  # fmt: skip
piece_algorithm = partial(
    Algorithm, cut=piece_plan, slots=per_pe(1), holds=ELEMENTS, outbox=False, why_not=requires_p2p,
)  # fmt: skip
