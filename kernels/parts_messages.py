"""Parts of any length by messages with a signal, which need no pointer to the peers.

In a round a block puts one piece to every PE for which it has one, and then takes one from every PE that sends one.  One
thread writes the counts of the messages, and all threads read them in the next round, after a ``sync``.  PEs can't
deadlock, whatever the counts: to put in round r a PE waits for what the receiver does in its round r-2, or did in
the call before; to take, for what the sender does at the beginning of its round r.
"""

from functools import partial

from .algorithm import PARTIALS, Algorithm, Plan, ToCut, per_pe
from .block import copy, sync
from .elements import combine
from .messages import fence, put, put_signal, read_epoch, refuse_count, signal, stage_for_put, wait, write_epoch
from .parts import (
    Part,
    Side,
    copy_own,
    first_before,
    has_more,
    is_sent,
    next_before,
    own_part,
    part_for,
    piece_of,
    size_of_pieces,
)
from .plans import MIN_BLOCK_BYTES, cut
from .primitive import DIFFERS
from .records import PE, Piece, Slots, Work
from .slots import VECTOR_BYTES, block_words, inbox_slots, outbox_slots, slot_at, word
from .steps import load_counter, peer, store_counter, untag_epoch

HEAD_BYTES = VECTOR_BYTES  # of a message: the bytes of the whole part; its data follow
WORDS = 6  # of a block for each PE
ARRIVED, READ, SENT, TAKEN = 0, 2, 4, 5  # the first of each kind: signals, one for each buffer; counts that this PE keeps
LEAST_SHARE = 8  # a piece is not smaller than this share of the largest
SMALL_SHARE = 64  # a piece smaller than this share of a slot is sent in one message with its head


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


def least_of(side: Side) -> int:
    """The least bytes of a piece."""
    return max(VECTOR_BYTES, side.piece_bytes // LEAST_SHARE // VECTOR_BYTES * VECTOR_BYTES)


def put_round(pe: PE, send: Side, work: Work, r: int) -> bool:
    """Put a piece to every PE for which there is one; returns whether there are more."""
    more, before = False, first_before(pe, send)
    for k in range(1, pe.n_pes):
        to = peer(pe, k)
        part = part_for(pe, send, to, before)
        before = next_before(pe, send, to, before, part)
        size = size_of_pieces(send, part.nbytes, least_of(send))
        piece = piece_of(part, size, r)
        if is_sent(piece, r):
            put_piece(pe, work, to, part, piece)
        more = more or has_more(part, size, r)
    return more


def take_round(pe: PE, receive: Side, work: Work, r: int) -> bool:
    """Take a piece from every PE that sends one; returns whether there are more."""
    more, before = False, first_before(pe, receive)
    for k in range(1, pe.n_pes):
        source = peer(pe, k)
        part = part_for(pe, receive, source, before)
        before = next_before(pe, receive, source, before, part)
        size = size_of_pieces(receive, part.nbytes, least_of(receive))
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
    size = size_of_pieces(out, result.nbytes, least_of(out))
    piece = piece_of(result, size, r)
    if is_sent(piece, r):
        for k in range(1, pe.n_pes):
            await_piece(pe, work, peer(pe, k), out, result)
        # All PEs have sent this one the same number of messages: their pieces are in slots of one buffer.
        number = arrival(pe, work, peer(pe, 1))
        slots, scratch = inbox_slots(work, number, pe.n_pes), slot_at(outbox_slots(work, number, pe.n_pes), pe.me)
        n_items = max(0, min(piece.nbytes, own.nbytes - piece.start)) // out.item_bytes
        addends = Piece(result.start + piece.start, own.start + piece.start, 0, n_items, n_items * out.item_bytes)
        combine(pe, addends, Slots(slots.address + HEAD_BYTES, slots.nbytes), scratch)
        for k in range(1, pe.n_pes):
            let_go(pe, work, peer(pe, k))
    return has_more(result, size, r)


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


message_algorithm = partial(Algorithm, cut=parts_plan, slots=per_pe(1), holds=PARTIALS, signals=per_pe(WORDS))
