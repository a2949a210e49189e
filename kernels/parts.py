"""Parts of any length from every PE to every other one: what AllGatherv, ReduceScatterv and all-to-allv share.

Each block of a PE sends a chain of messages to the block of the same index of each other PE.  A chain counts its own
messages, so a chain with nothing to send costs the others nothing.  Every message begins with the length of the whole
part, which the receiver compares with its own count.  Block 0 sends a message even for an empty part.  So counts that
differ are found at once, and no PE writes beyond its own counts.

In a round a block puts one piece to every PE for which it has one, and then takes one from every PE that sends one.
One thread writes the counts of the messages, and all threads read them in the next round, after a ``sync``.  PEs can't
deadlock, whatever the counts: to put in round r a PE waits for what the receiver does in its round r-2, or did in the
call before; to take, for what the sender does at the beginning of its round r.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from .algorithm import PARTIALS, Algorithm, Plan, ToCut, per_pe
from .block import block, blocks, copy, sync
from .elements import combine
from .messages import fence, put, put_signal, read_epoch, refuse_count, signal, stage_for_put, wait, write_epoch
from .plans import MIN_BLOCK_BYTES, cut
from .primitive import DIFFERS, SENDS, TAKES
from .records import PE, Parts, Work
from .slots import VECTOR_BYTES, block_words, inbox_slots, outbox_slots, slot_at, word
from .steps import load_counter, peer, store_counter, untag_epoch

HEAD_BYTES = VECTOR_BYTES  # of a message: the bytes of the whole part; its data follow
WORDS = 6  # of a block for each PE
ARRIVED, READ, SENT, TAKEN = 0, 2, 4, 5  # the first of each kind: signals, one for each buffer; counts that this PE keeps
LEAST_SHARE = 8  # a piece is not smaller than this share of the largest
SMALL_SHARE = 64  # a piece smaller than this share of a slot is sent in one message with its head
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
    """Whether all parts lie inside the array; else this PE gives up."""
    end = 0
    for k in range(pe.n_pes):
        count = read_epoch(side.counts, k)
        start = read_epoch(side.starts, k) if side.starts else end
        start = 0 if side.whose == ALONE else start
        end = start + count
        outside = count < 0 or (count > 0 and (start < 0 or count > n_elems - start))
        if outside and (side.whose == EACH or k == pe.me):
            refuse_count(pe.ctx, why, count, start, k)
            return False
    return True


def packed_bytes_before(side: Side, k: int) -> int:
    """Bytes of the parts before part k if the parts are packed; else 0, which no caller uses."""
    total = 0
    if side.counts and not side.starts and side.whose != ALONE:
        for one in range(k):
            total += read_epoch(side.counts, one)
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
    return part_of(side, pe.me, packed_bytes_before(side, pe.me))


def size_of_pieces(side: Side, nbytes: int) -> int:
    """Bytes of the pieces of a part.  Both sides compute it from the part's length alone."""
    most = side.piece_bytes
    least = max(VECTOR_BYTES, most // LEAST_SHARE // VECTOR_BYTES * VECTOR_BYTES)
    return min(most, max(least, share_of(nbytes)))


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


def chain_word(work: Work, pe: PE, kind: int, other: int) -> int:
    """Address of this block's word of a kind for a PE."""
    return word(block_words(work, WORDS * pe.n_pes), kind * pe.n_pes + other)


def put_piece(pe: PE, work: Work, to: int, part: Part, piece: Part) -> None:
    """Send the head of a message and a piece of a part."""
    sent = load_counter(work, chain_word(work, pe, SENT, to), 0) + 1
    # Once the message before the last is read, the slots of this one are free, on both PEs, and so are its two words.
    wait(pe.ctx, chain_word(work, pe, READ + (sent & 1), to), untag_epoch(work, sent - 2), to)
    message = slot_at(outbox_slots(work, sent, pe.n_pes), to)
    slots, arrived = inbox_slots(work, sent, pe.n_pes), chain_word(work, pe, ARRIVED + (sent & 1), pe.me)
    slot, data, source = slot_at(slots, pe.me), message + HEAD_BYTES, part.start + piece.start
    nbytes = HEAD_BYTES + piece.nbytes
    write_epoch(message, 0, part.nbytes)
    if piece.nbytes < slots.nbytes // SMALL_SHARE or source & 3:
        copy(data, source, piece.nbytes)  # into one message with the head, or to an address of whole vectors
    elif stage_for_put(pe.ctx, data, source, piece.nbytes, to) == source:
        put(pe.ctx, slot + HEAD_BYTES, source, piece.nbytes, to)
        fence(pe.ctx)
        nbytes = HEAD_BYTES
    put_signal(pe.ctx, slot, message, nbytes, arrived, sent, to)
    store_counter(work, chain_word(work, pe, SENT, to), 0, sent)


def arrival(pe: PE, work: Work, source: int) -> int:
    """The number of the message that comes next from a PE."""
    return load_counter(work, chain_word(work, pe, TAKEN, source), 0) + 1


def await_piece(pe: PE, work: Work, source: int, side: Side, part: Part) -> int:
    """Wait for the next message of a PE, and compare its head; returns the address of its data."""
    taken = arrival(pe, work, source)
    wait(pe.ctx, chain_word(work, pe, ARRIVED + (taken & 1), source), taken, source)
    slot = slot_at(inbox_slots(work, taken, pe.n_pes), source)
    nbytes = read_epoch(slot, 0)
    if nbytes != part.nbytes:
        refuse_count(pe.ctx, DIFFERS, nbytes // side.elem_bytes, part.nbytes // side.elem_bytes, source)
    return slot + HEAD_BYTES


def let_go(pe: PE, work: Work, source: int) -> None:
    """Signal to a PE that its message has been read."""
    taken = arrival(pe, work, source)
    signal(pe.ctx, chain_word(work, pe, READ + (taken & 1), pe.me), untag_epoch(work, taken), source)
    store_counter(work, chain_word(work, pe, TAKEN, source), 0, taken)


def put_round(pe: PE, send: Side, work: Work, r: int) -> bool:
    """Put a piece to every PE for which there is one; returns whether there are more."""
    more = False
    before = packed_bytes_before(send, pe.me + (send.whose == EACH))
    for k in range(1, pe.n_pes):
        to = peer(pe, k)
        if send.whose == EACH:
            before = before if to else 0
            part = part_of(send, to, before)
            before += part.nbytes
        else:
            part = part_of(send, pe.me, before)
        size = size_of_pieces(send, part.nbytes)
        piece = piece_of(part, size, r)
        if is_sent(piece, r):
            put_piece(pe, work, to, part, piece)
        more = more or has_more(part, size, r)
    return more


def take_round(pe: PE, receive: Side, work: Work, r: int) -> bool:
    """Take a piece from every PE that sends one; returns whether there are more."""
    more = False
    before = packed_bytes_before(receive, pe.me + 1)
    for k in range(1, pe.n_pes):
        source = peer(pe, k)
        before = before if source else 0
        part = part_of(receive, source, before)
        before += part.nbytes
        size = size_of_pieces(receive, part.nbytes)
        piece = piece_of(part, size, r)
        if is_sent(piece, r):
            data = await_piece(pe, work, source, receive, part)
            copy(part.start + piece.start, data, piece.nbytes)
            let_go(pe, work, source)
        more = more or has_more(part, size, r)
    return more


def reduce_round(pe: PE, src: Side, out: Side, work: Work, r: int) -> bool:
    """Add up one piece of this PE's part; whether there are more."""
    own, result = own_part(pe, src), own_part(pe, out)
    size = size_of_pieces(out, result.nbytes)
    piece = piece_of(result, size, r)
    if is_sent(piece, r):
        for k in range(1, pe.n_pes):
            await_piece(pe, work, peer(pe, k), out, result)
        # All PEs have sent this one the same number of messages: their pieces are in slots of one buffer.
        number = arrival(pe, work, peer(pe, 1))
        slots, scratch = inbox_slots(work, number, pe.n_pes), slot_at(outbox_slots(work, number, pe.n_pes), pe.me)
        n_items = max(0, min(piece.nbytes, own.nbytes - piece.start)) // out.item_bytes
        combine(
            pe.ctx, result.start + piece.start, slots.address + HEAD_BYTES, slots.nbytes, own.start + piece.start,
            n_items, scratch, pe.me, pe.n_pes,
        )  # fmt: skip
        for k in range(1, pe.n_pes):
            let_go(pe, work, peer(pe, k))
    return has_more(result, size, r)


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


def exchange_parts(pe: PE, send: Side, receive: Side, work: Work) -> None:
    """out's part of each PE = that PE's part of src for this PE; out may be src if lengths and starts are the same.

    inbox   (blocks, 2 buffers), a buffer holds (n_pes sources,) slots
    outbox  (blocks, 2 buffers), a buffer holds (n_pes destinations,) slots
    signals (blocks, 6, n_pes) words: a source's message is here (2); a destination has read one (2); this PE's own counts
            of messages sent to a PE, and taken from it
    """
    r, more = 0, True
    while more:
        more = put_round(pe, send, work, r)
        if r == 0:
            copy_own(pe, send, receive)
        later = take_round(pe, receive, work, r)  # in place this piece of src has been sent, or copied to the outbox
        more = more or later
        r += 1
        sync()  # now all threads see the counts of this round


def parts_plan(call: ToCut) -> Plan:
    """Pieces that fill a slot after its head.  call.n_elems: of the longest part of all PEs, 0: not all PEs know it"""
    slot_bytes = call.limits.buffer_bytes // call.slots // VECTOR_BYTES * VECTOR_BYTES
    n_blocks = call.blocks(MIN_BLOCK_BYTES) if call.n_elems else call.limits.max_blocks
    return Plan(n_blocks, cut(1 << 62, 1, (slot_bytes - HEAD_BYTES) // call.slot_item_bytes))


def parts_table(kernel: Callable[..., Any]) -> dict[str, Algorithm]:
    """The table of the only algorithm of a collective of such parts."""
    only = Algorithm(kernel, parts_plan, slots=per_pe(1), holds=PARTIALS, signals=per_pe(WORDS))
    return {only.name: only}
