"""Parts of any length by packets, without a signal.

In a round a block meets every PE with which it has a piece to exchange, in either direction: it sends a message to each,
and takes one from each after it has sent those of the next round.  Both PEs know both lengths, so they agree on the
rounds; a message may have no piece.  One of epoch e-1 comes from a block that has taken all of epoch e-3, and it has come
when that of epoch e+1 is sent: four half buffers are enough.

Where pieces are added up, all PEs know all lengths.  There a block meets every PE in each round, so that the pieces of a
round are of one epoch.
"""

from functools import partial
from typing import NamedTuple

from .algorithm import HEAD_AND_PACKETS, Algorithm, Plan, ToCut, per_pe, requires_ll128
from .messages import read_epoch, refuse_count
from .packets import GROUP_DATA_BYTES, PACKET_BYTES, PACKETS_TOGETHER, combine_packets, receive_packets, send_packets
from .parts import (
    ALONE,
    EACH,
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
from .plans import FEW_WARPS, MANY_WARPS, cut, packed_bytes, threads_for
from .primitive import DIFFERS
from .records import PE, Packets, Piece, Slots, Work
from .slots import WORD_BYTES, block_words, half_buffer_slots, outbox_of, slot_at, word
from .steps import load_counter, peer, store_counter

HEAD_BYTES = PACKETS_TOGETHER * PACKET_BYTES  # of a message: the elements of the whole part; its data follow
LEAST_BYTES = FEW_WARPS * GROUP_DATA_BYTES  # of a piece


class Exchange(NamedTuple):
    """A call on this PE.

    send, receive:              the sides of src and out
    sent_before, taken_before:  see ``first_before``
    """

    pe: PE
    send: Side
    receive: Side
    work: Work
    sent_before: int
    taken_before: int


class Meeting(NamedTuple):
    """What this block exchanges with a PE in a round, if it meets that PE.

    sent, taken:           the pieces, whose starts are addresses;  taken_whole: bytes of the whole part that is taken
    is_held:               whether it meets the PE;  goes_on: whether it does in the next round
    sent_next, taken_next: bytes before the parts of the PE that follows
    """

    sent: Part
    taken: Part
    taken_whole: int
    is_held: bool
    goes_on: bool
    sent_next: int
    taken_next: int


def exchange_of(pe: PE, send: Side, receive: Side, work: Work) -> Exchange:
    """The call with these sides."""
    return Exchange(pe, send, receive, work, first_before(pe, send), first_before(pe, receive))


def meeting(x: Exchange, other: int, before: int, back_before: int, r: int) -> Meeting:
    """What a round has for a PE.  before, back_before: bytes before the part for it, and before that from it"""
    part, back = part_for(x.pe, x.send, other, before), part_for(x.pe, x.receive, other, back_before)
    size = size_of_pieces(x.send, part.nbytes, LEAST_BYTES)
    back_size = size_of_pieces(x.receive, back.nbytes, LEAST_BYTES)
    piece, taken = piece_of(part, size, r), piece_of(back, back_size, r)
    return Meeting(
        Part(part.start + piece.start, piece.nbytes),
        Part(back.start + taken.start, taken.nbytes),
        back.nbytes,
        is_sent(piece, r) or taken.nbytes > 0 or x.receive.whose == ALONE,
        has_more(part, size, r) or has_more(back, back_size, r),
        next_before(x.pe, x.send, other, before, part),
        next_before(x.pe, x.receive, other, back_before, back),
    )


def counter_of(x: Exchange, other: int) -> int:
    """Address of the word that counts this block's meetings with a PE, in the calls before."""
    return word(block_words(x.work, x.pe.n_pes), other)


def epoch_of(x: Exchange, other: int, r: int) -> int:
    """The epoch of a meeting: two PEs meet in the first rounds of a call."""
    return load_counter(x.work, counter_of(x, other), 0) + 1 + r


def slots_of(x: Exchange, epoch: int) -> Slots:
    """The slots of an epoch, one for each source."""
    return half_buffer_slots(x.work, epoch, x.pe.n_pes, PACKET_BYTES)


def send_message(x: Exchange, to: int, piece: Part, epoch: int) -> None:
    """Send the head of a message, which is the count itself, and a piece."""
    pe, side, slot = x.pe, x.send, slot_at(slots_of(x, epoch), x.pe.me)
    count = word(side.counts, to if side.whose == EACH else pe.me) if side.counts else x.work.epochs  # it has given up
    send_packets(pe.ctx, slot, count, WORD_BYTES, epoch, to)
    if piece.nbytes > 0:
        send_packets(pe.ctx, slot + HEAD_BYTES, piece.start, piece.nbytes, epoch, to)


def take_message(x: Exchange, source: int, nbytes: int, piece: Part, epoch: int) -> None:
    """Take a message of a PE whose part has nbytes, and compare its head.  A piece to be added up stays where it is."""
    pe, elem_bytes, head = x.pe, x.receive.elem_bytes, word(outbox_of(x.work, 0), source)
    slot = slot_at(slots_of(x, epoch), source)
    receive_packets(pe.ctx, head, slot, WORD_BYTES, epoch, source)
    count = read_epoch(head, 0)
    if count * elem_bytes != nbytes:
        refuse_count(pe.ctx, DIFFERS, count, nbytes // elem_bytes, source)
    if piece.nbytes > 0 and x.receive.whose == EACH:
        receive_packets(pe.ctx, piece.start, slot + HEAD_BYTES, piece.nbytes, epoch, source)


def send_round(x: Exchange, r: int) -> bool:
    """Send a message to every PE that this block meets in a round; returns whether there are more rounds."""
    pe, more, before, back_before = x.pe, False, x.sent_before, x.taken_before
    for k in range(1, pe.n_pes):
        to = peer(pe, k)
        met = meeting(x, to, before, back_before, r)
        before, back_before = met.sent_next, met.taken_next
        if met.is_held:
            send_message(x, to, met.sent, epoch_of(x, to, r))
        more = more or met.goes_on
    return more


def take_round(x: Exchange, r: int, is_last: bool) -> None:
    """Take a message from every PE that this block meets in a round; count the meetings with it after the last."""
    pe, before, back_before = x.pe, x.sent_before, x.taken_before
    for k in range(1, pe.n_pes):
        source = peer(pe, k)
        met = meeting(x, source, before, back_before, r)
        before, back_before = met.sent_next, met.taken_next
        if met.is_held:
            epoch = epoch_of(x, source, r)
            take_message(x, source, met.taken_whole, met.taken, epoch)
            if is_last or (x.receive.whose != ALONE and not met.goes_on):
                store_counter(x.work, counter_of(x, source), 0, epoch)


def add_up(x: Exchange, r: int, epoch: int) -> None:
    """Add up the pieces of this PE's part that have come in a round."""
    pe, own, result = x.pe, own_part(x.pe, x.send), own_part(x.pe, x.receive)
    piece = piece_of(result, size_of_pieces(x.receive, result.nbytes, LEAST_BYTES), r)
    n_items = max(0, min(piece.nbytes, own.nbytes - piece.start)) // x.receive.item_bytes
    if n_items > 0:
        nbytes, slots = n_items * x.receive.item_bytes, slots_of(x, epoch)
        addends = Piece(result.start + piece.start, own.start + piece.start, 0, n_items, nbytes)
        after_heads = Slots(slots.address + HEAD_BYTES, slots.nbytes)
        combine_packets(pe, addends, Packets(after_heads, epoch), outbox_of(x.work, 1))


def exchange_parts(pe: PE, send: Side, receive: Side, work: Work) -> None:
    """out's part of each PE = that PE's part of src for this PE; out may be src if lengths and starts are the same.

    inbox   (blocks, 4 half buffers), a half buffer holds (n_pes sources,) slots of packets
    outbox  (blocks, 2 buffers), the first begins with (n_pes sources,) heads
    signals (blocks, n_pes) words: this PE's own counts of its meetings with a PE
    """
    x = exchange_of(pe, send, receive, work)
    more, r, goes_on = send_round(x, 0), 0, True
    copy_own(pe, send, receive)
    while goes_on:
        goes_on = more
        if goes_on:
            more = send_round(x, r + 1)
        take_round(x, r, not goes_on)
        r += 1


def packets_plan(call: ToCut) -> Plan:
    """Pieces that fill a slot after its head.  call.n_elems: of the longest part of all PEs, 0: not all PEs know it"""
    slot_bytes = call.limits.buffer_bytes // call.slots // PACKET_BYTES * PACKET_BYTES
    most_bytes = packed_bytes(slot_bytes - HEAD_BYTES)
    n_blocks = call.blocks(LEAST_BYTES) if call.n_elems else call.limits.max_blocks
    groups = -(-call.n_elems * call.item_bytes // (n_blocks * GROUP_DATA_BYTES))
    threads = threads_for(groups) if 0 < groups <= MANY_WARPS else 0  # a block's warps all run what is not a packet
    return Plan(n_blocks, cut(1 << 62, 1, most_bytes // call.item_bytes), threads)


packet_algorithm = partial(
    Algorithm, cut=packets_plan, slots=per_pe(2), holds=HEAD_AND_PACKETS, signals=per_pe(1), why_not=requires_ll128
)
