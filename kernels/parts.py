"""Parts of any length from every PE to every other one: what AllGatherv, ReduceScatterv and all-to-allv share.

Each block of a PE sends a chain of messages to the block of the same index of each other PE.  A chain counts its own
messages, so a chain with nothing to send costs the others nothing.  Every message begins with the length of the whole
part, which the receiver compares with its own count.  Block 0 sends a message even for an empty part.  So counts that
differ are found at once, and no PE writes beyond its own counts.
"""

from typing import NamedTuple

from .block import block, blocks, copy
from .messages import read_epoch, refuse_count
from .primitive import DIFFERS, SENDS, TAKES
from .records import PE, Parts
from .slots import VECTOR_BYTES
from .steps import peer

EACH, OWN, ALONE = 0, 1, 2  # see ``Side``


class Side(NamedTuple):
    """The parts of one of a call's arrays.

    array:  address;  counts, starts, elem_bytes, item_bytes, piece_bytes: as in ``Parts``; counts 0: all parts are empty
    whose:  EACH: a part for each PE;  OWN: this PE's part, for every other PE;  ALONE: the same, at element 0
    """

    array: int
    counts: int
    starts: int
    whose: int
    elem_bytes: int
    item_bytes: int
    piece_bytes: int


class Part(NamedTuple):
    """nbytes from an address on, or from ``start`` bytes after the start of a part."""

    start: int
    nbytes: int


def sending(pe: PE, call: Parts, whose: int) -> Side:
    """The side of src."""
    sizes = call.elem_bytes, call.item_bytes, call.piece_bytes
    return checked(pe, Side(call.src, call.send_counts, call.send_starts, whose, *sizes), call.src_elems, SENDS)


def taking(pe: PE, call: Parts, whose: int) -> Side:
    """The side of out."""
    sizes = call.elem_bytes, call.item_bytes, call.piece_bytes
    return checked(pe, Side(call.out, call.receive_counts, call.receive_starts, whose, *sizes), call.out_elems, TAKES)


def checked(pe: PE, side: Side, n_elems: int, why: int) -> Side:
    """A side; without counts if its parts do not fit into the array."""
    if fits(pe, side, n_elems, why):
        return side
    return Side(side.array, 0, 0, EACH, side.elem_bytes, side.item_bytes, side.piece_bytes)


def fits(pe: PE, side: Side, n_elems: int, why: int) -> bool:
    """Whether all parts lie inside the array; else this PE gives up.  No branch ends the loop: its loads go together."""
    end, wrong, found, first = 0, -1, 0, 0
    for k in range(pe.n_pes):
        count = read_epoch(side.counts, k)
        start = read_epoch(side.starts, k) if side.starts else end
        start = 0 if side.whose == ALONE else start
        end = start + count
        outside = count < 0 or (count > 0 and (start < 0 or count > n_elems - start))
        if outside and wrong < 0 and (side.whose == EACH or k == pe.me):
            wrong, found, first = k, count, start
    if wrong >= 0:
        refuse_count(pe.ctx, why, found, first, wrong)
    return wrong < 0


def packed_bytes_before(pe: PE, side: Side, k: int) -> int:
    """Bytes of the parts before part k if the parts are packed; else 0, which no caller uses."""
    total = 0
    if side.counts and not side.starts and side.whose != ALONE:
        for one in range(pe.n_pes):
            count = read_epoch(side.counts, one)
            total += count if one < k else 0
    return total * side.elem_bytes


def part_of(side: Side, k: int, before_bytes: int) -> Part:
    """Part k, which begins ``before_bytes`` after the array if the parts are packed."""
    if not side.counts:
        return Part(side.array, 0)
    start = read_epoch(side.starts, k) * side.elem_bytes if side.starts else before_bytes
    start = 0 if side.whose == ALONE else start
    return Part(side.array + start, read_epoch(side.counts, k) * side.elem_bytes)


def own_part(pe: PE, side: Side) -> Part:
    """This PE's part."""
    return part_of(side, pe.me, packed_bytes_before(pe, side, pe.me))


def part_for(pe: PE, side: Side, other: int, before_bytes: int) -> Part:
    """The part for ``other``, or from it, which begins ``before_bytes`` after the array if the parts are packed."""
    return part_of(side, other if side.whose == EACH else pe.me, before_bytes)


def first_before(pe: PE, side: Side) -> int:
    """Bytes before the part of the first other PE, where a loop over all others begins."""
    return packed_bytes_before(pe, side, peer(pe, 1) if side.whose == EACH else pe.me)


def next_before(pe: PE, side: Side, other: int, before_bytes: int, part: Part) -> int:
    """Bytes before the part of the PE after ``other``, whose part is ``part``."""
    if side.whose != EACH:
        return before_bytes
    return before_bytes + part.nbytes if other + 1 < pe.n_pes else 0


def size_of_pieces(side: Side, nbytes: int, least_bytes: int) -> int:
    """Bytes of the pieces of a part: multiples of least_bytes that give each block one, while they are small enough.

    Both sides compute it from the part's length alone.  A GPU takes longer for a division than for the loop.
    """
    size = least_bytes
    while size < side.piece_bytes and size * blocks() < nbytes:
        size += least_bytes
    return min(side.piece_bytes, size)


def share_of(nbytes: int) -> int:
    """Bytes of a part that each block takes, in whole vectors."""
    share = (nbytes + blocks() - 1) // blocks()
    return (share + VECTOR_BYTES - 1) // VECTOR_BYTES * VECTOR_BYTES


def piece_of(part: Part, size: int, r: int) -> Part:
    """Piece r of this block, without bytes if there is none."""
    start = (block() + r * blocks()) * size
    return Part(start, max(0, min(size, part.nbytes - start)))


def has_more(part: Part, size: int, r: int) -> bool:
    """Whether this block has pieces after piece r."""
    return (block() + (r + 1) * blocks()) * size < part.nbytes


def is_sent(piece: Part, r: int) -> bool:
    """Whether a piece is sent: block 0's first piece is even if it is empty."""
    return piece.nbytes > 0 or (r == 0 and block() == 0)


def copy_own(pe: PE, send: Side, receive: Side) -> None:
    """This PE's part for itself, which all blocks share."""
    src, dst = own_part(pe, send), own_part(pe, receive)
    if src.nbytes != dst.nbytes:
        refuse_count(pe.ctx, DIFFERS, src.nbytes // send.elem_bytes, dst.nbytes // send.elem_bytes, pe.me)
    nbytes = min(src.nbytes, dst.nbytes)
    share = share_of(nbytes)
    start = block() * share
    if src.start != dst.start and start < nbytes:
        copy(dst.start + start, src.start + start, min(share, nbytes - start))
