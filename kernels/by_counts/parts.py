"""Parts of any length from every PE to every other PE, for AllGatherv, ReduceScatterv and all-to-allv.

Each block of a PE sends a chain of messages to the block of the same index on each other PE.  Each chain has its own
count of messages, so a chain with nothing to send does not delay the others.  Every message begins with the length of
the whole part, which the receiver compares with its own count.  Block 0 sends a message even for an empty part.  So the
receiver detects different counts at once, and no PE writes outside the part of its own counts.

    part      |-------- piece 0 of block 0 --------|-- piece 0 of block 1 --| ... |-- piece 1 of block 0 --| ...
    message   | head: the length of the part | a piece |
"""

from typing import NamedTuple

from ..block import add_shared, block, blocks, copy, lanes, sync
from ..messages import read_epoch, refuse_count
from ..primitive import DIFFERS, SENDS, TAKES
from ..records import PE, Parts, Work
from ..slots import VECTOR_BYTES, block_words, word

WORDS = 8  # words of a block for each PE: starts of packed parts of src and of out, then words of the algorithm
STARTS_OF_SRC, STARTS_OF_OUT, OTHER_WORDS = 0, 1, 2  # kinds of words; the algorithm's kinds begin at OTHER_WORDS
EACH = -1  # see ``PartTable``


class PartTable(NamedTuple):
    """The parts of one array of a call.

    array:  address of the array
    counts: address of (n_pes,) words: number of elements of each part; 0: all parts are empty
    starts: address of (n_pes,) words: index of the first element of each part
    own:    number of the single part that all PEs get, or that all PEs send; EACH: each PE has its own part
    elem_bytes, item_bytes, piece_bytes: as in ``Parts``
    """

    array: int
    counts: int
    starts: int
    own: int
    elem_bytes: int
    item_bytes: int
    piece_bytes: int


class PartPiece(NamedTuple):
    """A piece of a part, which one message carries.

    address, nbytes: address and length of the piece, which may be empty
    part_bytes:      length of the whole part
    has_next:        True if this block has another piece of the part
    """

    address: int
    nbytes: int
    part_bytes: int
    has_next: bool


class PartExchange(NamedTuple):
    """A call on this PE: the parts of src and of out."""

    pe: PE
    send: PartTable
    receive: PartTable
    work: Work


def exchange_of(pe: PE, call: Parts, work: Work, own_of_src: int, own_of_out: int) -> PartExchange:
    """The tables of a call.  own_of_src, own_of_out: field ``own`` of the two tables"""
    sizes = call.elem_bytes, call.item_bytes, call.piece_bytes
    sent_starts = starts_of(pe, work, call.send_counts, call.send_starts, STARTS_OF_SRC)
    received_starts = starts_of(pe, work, call.receive_counts, call.receive_starts, STARTS_OF_OUT)
    send = PartTable(call.src, call.send_counts, sent_starts, own_of_src, *sizes)
    receive = PartTable(call.out, call.receive_counts, received_starts, own_of_out, *sizes)
    return PartExchange(pe, checked(pe, send, call.src_elems, SENDS), checked(pe, receive, call.out_elems, TAKES), work)


def starts_of(pe: PE, work: Work, counts: int, starts: int, kind: int) -> int:
    """Address of the starts of the parts.  If a call has none, this block computes the starts of packed parts."""
    if starts:
        return starts
    packed = word_for(pe, work, kind, 0)
    for k in lanes(0, pe.n_pes):
        start = 0
        for j in range(k):
            start += read_epoch(counts, j)
        add_shared(packed, k, start - read_epoch(packed, k))  # no other thread adds to this word: it is a plain store
    sync()
    return packed


def checked(pe: PE, parts: PartTable, n_elems: int, why: int) -> PartTable:
    """The parts; empty parts if this PE gives up because a part does not lie inside the array."""
    if fits(pe, parts, n_elems, why):
        return parts
    return PartTable(parts.array, 0, 0, EACH, parts.elem_bytes, parts.item_bytes, parts.piece_bytes)


def fits(pe: PE, parts: PartTable, n_elems: int, why: int) -> bool:
    """Whether all parts lie inside the array; else this PE gives up.  A loop without an exit lets its loads overlap."""
    wrong, wrong_count, wrong_start = -1, 0, 0
    for k in range(pe.n_pes):
        count, start = read_epoch(parts.counts, k), read_epoch(parts.starts, k)
        outside = count < 0 or (count > 0 and (start < 0 or count > n_elems - start))
        if outside and wrong < 0 and (parts.own == EACH or k == parts.own):
            wrong, wrong_count, wrong_start = k, count, start
    if wrong >= 0:
        refuse_count(pe.ctx, why, wrong_count, wrong_start, wrong)
    return wrong < 0


def word_for(pe: PE, work: Work, kind: int, partner: int) -> int:
    """Address of this block's word of a kind for a PE."""
    return word(block_words(work, WORDS * pe.n_pes), kind * pe.n_pes + partner)


def number_of(parts: PartTable, partner: int) -> int:
    """Number of the part for a PE, or from it."""
    return partner if parts.own == EACH else parts.own


def part_address(parts: PartTable, k: int) -> int:
    """Address of part k."""
    return parts.array + read_epoch(parts.starts, k) * parts.elem_bytes if parts.counts else parts.array


def part_bytes(parts: PartTable, k: int) -> int:
    """Length of part k."""
    return read_epoch(parts.counts, k) * parts.elem_bytes if parts.counts else 0


def piece_for(parts: PartTable, partner: int, r: int, least_bytes: int) -> PartPiece:
    """This block's piece number r of the part for a PE or from it.

    The size of a piece is the least multiple of least_bytes with which each block has one piece, but at most
    piece_bytes: both PEs compute it from the part's length.  On a GPU a division takes longer than this loop.
    """
    k = number_of(parts, partner)
    nbytes, size = part_bytes(parts, k), least_bytes
    while size < parts.piece_bytes and size * blocks() < nbytes:
        size += least_bytes
    size = min(parts.piece_bytes, size)
    start, stride = (block() + r * blocks()) * size, blocks() * size
    return PartPiece(part_address(parts, k) + start, max(0, min(size, nbytes - start)), nbytes, start + stride < nbytes)


def is_sent(piece: PartPiece, r: int) -> bool:
    """Whether a piece is sent: block 0 sends its first piece even if it is empty."""
    return piece.nbytes > 0 or (r == 0 and block() == 0)


def addend(x: PartExchange, piece: PartPiece) -> tuple[int, int]:
    """(address, number) of this PE's own items that belong to a piece of its part."""
    me = x.pe.me
    offset = piece.address - part_address(x.receive, me)
    nbytes = max(0, min(piece.nbytes, part_bytes(x.send, me) - offset))
    return part_address(x.send, me) + offset, nbytes // x.receive.item_bytes


def copy_own(x: PartExchange) -> None:
    """Copy this PE's part for itself; each block copies a share."""
    me, elem_bytes = x.pe.me, x.send.elem_bytes
    src, dst, nbytes = part_address(x.send, me), part_address(x.receive, me), part_bytes(x.send, me)
    wanted = part_bytes(x.receive, me)
    if nbytes != wanted:
        refuse_count(x.pe.ctx, DIFFERS, nbytes // elem_bytes, wanted // elem_bytes, me)
    nbytes = min(nbytes, wanted)
    share = share_of(nbytes)
    start = block() * share
    if src != dst and start < nbytes:
        copy(dst + start, src + start, min(share, nbytes - start))


def share_of(nbytes: int) -> int:
    """Bytes of a part that each block copies, in whole vectors."""
    share = (nbytes + blocks() - 1) // blocks()
    return (share + VECTOR_BYTES - 1) // VECTOR_BYTES * VECTOR_BYTES
