"""Exchange of parts of any length by messages with a signal, which need no pointer to the peers.

In a round a block first puts a piece to every PE for which it has a piece left.  Then it reads a piece from every PE
that sends it one.  A thread writes the counts of the messages; all threads read them in the next round, after a ``sync``.

PEs can't deadlock, whatever the counts.  A put of round r waits only until the receiver has read round r-2, or the
previous call.  A read of round r waits only for a put, which the sender does at the start of its round r.
"""

from functools import partial

from ..algorithm import PARTIALS, Algorithm, Plan, ToCut, per_pe
from ..block import copy, sync
from ..elements import combine
from ..messages import fence, put, put_signal, read_epoch, refuse_count, signal, stage_for_put, wait, write_epoch
from ..plans import MIN_BLOCK_BYTES, cut
from ..primitive import DIFFERS
from ..records import Message, Piece, Slots
from ..slots import VECTOR_BYTES, inbox_slots, outbox_slots, slot_at
from ..steps import load_counter, peer, store_counter, untag_epoch
from .parts import OTHER_WORDS, WORDS, PartExchange, PartPiece, PartTable, addend, copy_own, is_sent, piece_for, word_for

HEAD_BYTES = VECTOR_BYTES  # size of a message's head, which holds the length of the whole part; the piece follows it
# Kinds of words: two signals for arrived messages and two for messages that were read, one for each buffer; then this
# PE's counts of messages sent and received.
ARRIVED, READ, SENT, TAKEN = (OTHER_WORDS + k for k in (0, 2, 4, 5))
LEAST_DIVISOR = 8  # a piece is at least 1/8 of the largest piece
SMALL_DIVISOR = 64  # a piece of less than 1/64 of a slot is copied, so that a single message carries head and piece


def put_piece(x: PartExchange, to: int, piece: PartPiece) -> None:
    """Send a message: its head and a piece of a part."""
    pe, work, sent_word = x.pe, x.work, word_for(x.pe, x.work, SENT, to)
    sent = load_counter(work, sent_word, 0) + 1
    # If the peer has read the message before the previous one, the slots and words of that message are free again.
    wait(pe.ctx, word_for(pe, work, READ + (sent & 1), to), untag_epoch(work, sent - 2), to)
    head = slot_at(outbox_slots(work, sent, pe.n_pes), to)
    slots, arrived = inbox_slots(work, sent, pe.n_pes), word_for(pe, work, ARRIVED + (sent & 1), pe.me)
    slot, data, nbytes = slot_at(slots, pe.me), head + HEAD_BYTES, HEAD_BYTES + piece.nbytes
    write_epoch(head, 0, piece.part_bytes)
    if piece.nbytes < slots.nbytes // SMALL_DIVISOR or piece.address & 3:
        copy(data, piece.address, piece.nbytes)  # into one message with the head, or to an aligned address
    elif stage_for_put(pe.ctx, data, piece.address, piece.nbytes, to) == piece.address:
        put(pe.ctx, slot + HEAD_BYTES, piece.address, piece.nbytes, to)
        fence(pe.ctx)
        nbytes = HEAD_BYTES
    put_signal(pe.ctx, Message(slot, head, nbytes, to), arrived, sent)
    store_counter(work, sent_word, 0, sent)


def arrival(x: PartExchange, source: int) -> int:
    """Number of the next message from a PE."""
    return load_counter(x.work, word_for(x.pe, x.work, TAKEN, source), 0) + 1


def await_piece(x: PartExchange, source: int, part_bytes: int) -> int:
    """Wait for the next message of a PE, and check the length in its head.  Returns the address of its piece."""
    pe, taken, elem_bytes = x.pe, arrival(x, source), x.receive.elem_bytes
    wait(pe.ctx, word_for(pe, x.work, ARRIVED + (taken & 1), source), taken, source)
    slot = slot_at(inbox_slots(x.work, taken, pe.n_pes), source)
    nbytes = read_epoch(slot, 0)
    if nbytes != part_bytes:
        refuse_count(pe.ctx, DIFFERS, nbytes // elem_bytes, part_bytes // elem_bytes, source)
    return slot + HEAD_BYTES


def acknowledge(x: PartExchange, source: int) -> None:
    """Signal to a PE that its message has been read."""
    pe, work, taken = x.pe, x.work, arrival(x, source)
    signal(pe.ctx, word_for(pe, work, READ + (taken & 1), pe.me), untag_epoch(work, taken), source)
    store_counter(work, word_for(pe, work, TAKEN, source), 0, taken)


def least_bytes_of(parts: PartTable) -> int:
    """The least bytes of a piece."""
    return max(VECTOR_BYTES, parts.piece_bytes // LEAST_DIVISOR // VECTOR_BYTES * VECTOR_BYTES)


def put_round(x: PartExchange, r: int) -> bool:
    """Put a piece to every PE that gets one in round r.  Returns whether a later round has pieces."""
    has_next = False
    for k in range(1, x.pe.n_pes):
        to = peer(x.pe, k)
        piece = piece_for(x.send, to, r, least_bytes_of(x.send))
        if is_sent(piece, r):
            put_piece(x, to, piece)
        has_next = has_next or piece.has_next
    return has_next


def take_round(x: PartExchange, r: int) -> bool:
    """Copy a piece from every PE that sends one in round r.  Returns whether a later round has pieces."""
    has_next = False
    for k in range(1, x.pe.n_pes):
        source = peer(x.pe, k)
        piece = piece_for(x.receive, source, r, least_bytes_of(x.receive))
        if is_sent(piece, r):
            data = await_piece(x, source, piece.part_bytes)
            copy(piece.address, data, piece.nbytes)
            acknowledge(x, source)
        has_next = has_next or piece.has_next
    return has_next


def reduce_round(x: PartExchange, r: int) -> bool:
    """Add up a piece of this PE's part.  Returns whether a later round has pieces."""
    pe, work = x.pe, x.work
    piece = piece_for(x.receive, pe.me, r, least_bytes_of(x.receive))
    if is_sent(piece, r):
        for k in range(1, pe.n_pes):
            await_piece(x, peer(pe, k), piece.part_bytes)
        # All PEs have sent this PE the same number of messages, so their pieces are in the same buffer.
        number = arrival(x, peer(pe, 1))
        slots, scratch = inbox_slots(work, number, pe.n_pes), slot_at(outbox_slots(work, number, pe.n_pes), pe.me)
        src, n_items = addend(x, piece)
        addends = Piece(piece.address, src, 0, n_items, n_items * x.receive.item_bytes)
        combine(pe, addends, Slots(slots.address + HEAD_BYTES, slots.nbytes), scratch)
        for k in range(1, pe.n_pes):
            acknowledge(x, peer(pe, k))
    return piece.has_next


def exchange_parts(x: PartExchange) -> None:
    """Part p of out = part ``me`` of src of PE p; out may be src if the counts and starts of both are equal.

    inbox   (blocks, 2 buffers), a buffer holds (n_pes sources,) slots
    outbox  (blocks, 2 buffers), a buffer holds (n_pes destinations,) slots
    signals (blocks, 8, n_pes) words: starts of packed parts (2); a source's message has arrived (2); a destination has
            read a message (2); this PE's own counts of messages sent to a PE, and received from it
    """
    r, has_next = 0, True
    while has_next:
        has_next = put_round(x, r)
        if r == 0:
            copy_own(x)
        takes_next = take_round(x, r)  # it may overwrite src, since put_round has sent or copied this round's pieces
        has_next = has_next or takes_next
        r += 1
        sync()  # all threads read the counts of this round after it


def parts_plan(call: ToCut) -> Plan:
    """Plan with pieces that fill a slot after its head.  call.n_elems: elements of the longest part; 0: unknown"""
    slot_bytes = call.limits.buffer_bytes // call.slots // VECTOR_BYTES * VECTOR_BYTES
    n_blocks = call.blocks(MIN_BLOCK_BYTES) if call.n_elems else call.limits.max_blocks
    return Plan(n_blocks, cut(1 << 62, 1, (slot_bytes - HEAD_BYTES) // call.slot_item_bytes))


message_algorithm = partial(Algorithm, cut=parts_plan, slots=per_pe(1), holds=PARTIALS, signals=per_pe(WORDS))
