"""Exchange of parts of any length by packets, without signals.

In a round a block meets every PE with which it exchanges a piece, in at least one direction: it sends the PE a message,
and receives a message from it.  It sends the messages of a round before it receives those of the previous round.  Both
PEs know the lengths of both parts, so they agree on the number of their rounds; a message may have no piece.

Four half buffers suffice: before a block sends epoch e+1 to a PE it has received epoch e-1 from it.  That PE sent e-1
after it had received e-3, so the half buffer of e-3 is free for e+1.

If pieces are added up, all PEs know all lengths, and a block meets every PE in each round, so that the pieces of a round
have the same epoch.
"""

from functools import partial

from ..algorithm import HEAD_AND_PACKETS, Algorithm, Plan, ToCut, per_pe, requires_ll128
from ..messages import read_epoch, refuse_count
from ..packets import GROUP_DATA_BYTES, PACKET_BYTES, PACKETS_TOGETHER, combine_packets, receive_packets, send_packets
from ..plans import FEW_WARPS, MANY_WARPS, cut, packed_bytes, threads_for
from ..primitive import DIFFERS
from ..records import Message, Packets, Piece, Slots
from ..slots import WORD_BYTES, half_buffer_slots, outbox_of, slot_at, word
from ..steps import load_counter, peer, store_counter
from .parts import (
    EACH,
    OTHER_WORDS,
    WORDS,
    PartExchange,
    PartPiece,
    addend,
    copy_own,
    is_sent,
    number_of,
    piece_for,
    word_for,
)

HEAD_BYTES = PACKETS_TOGETHER * PACKET_BYTES  # size of a message's head, which holds the count of the whole part
LEAST_BYTES = FEW_WARPS * GROUP_DATA_BYTES  # least bytes of a piece
MEETINGS = OTHER_WORDS  # kind of the words that count this block's meetings with each PE, in earlier calls


def meets(x: PartExchange, sent: PartPiece, taken: PartPiece, r: int) -> bool:
    """Whether this block meets a PE in round r.  sent, taken: the pieces for the PE, and from the PE"""
    return is_sent(sent, r) or taken.nbytes > 0 or x.receive.own != EACH


def epoch_of(x: PartExchange, partner: int, r: int) -> int:
    """The epoch of the meeting with a PE in round r.  Two PEs meet in consecutive rounds from 0 on."""
    return load_counter(x.work, word_for(x.pe, x.work, MEETINGS, partner), 0) + 1 + r


def slots_of(x: PartExchange, epoch: int) -> Slots:
    """The slots of an epoch, one for each source."""
    return half_buffer_slots(x.work, epoch, x.pe.n_pes, PACKET_BYTES)


def send_message(x: PartExchange, to: int, piece: PartPiece, epoch: int) -> None:
    """Send a message: its head, which holds the count, and a piece."""
    pe, counts, slot = x.pe, x.send.counts, slot_at(slots_of(x, epoch), x.pe.me)
    count = word(counts, number_of(x.send, to)) if counts else x.work.epochs  # without counts this PE has given up
    send_packets(pe.ctx, Message(slot, count, WORD_BYTES, to), epoch)
    if piece.nbytes > 0:
        send_packets(pe.ctx, Message(slot + HEAD_BYTES, piece.address, piece.nbytes, to), epoch)


def take_message(x: PartExchange, source: int, piece: PartPiece, epoch: int) -> None:
    """Receive a message of a PE, and check the count in its head.  A piece that will be added up stays in its slot."""
    pe, wanted, head = x.pe, piece.part_bytes // x.receive.elem_bytes, word(outbox_of(x.work, 0), source)
    slot = slot_at(slots_of(x, epoch), source)
    receive_packets(pe.ctx, Message(head, slot, WORD_BYTES, source), epoch)
    count = read_epoch(head, 0)
    if count != wanted:
        refuse_count(pe.ctx, DIFFERS, count, wanted, source)
    if piece.nbytes > 0 and x.receive.own == EACH:
        receive_packets(pe.ctx, Message(piece.address, slot + HEAD_BYTES, piece.nbytes, source), epoch)


def send_round(x: PartExchange, r: int) -> bool:
    """Send a message to every PE that this block meets in round r.  Returns whether a later round has messages."""
    has_next = False
    for k in range(1, x.pe.n_pes):
        to = peer(x.pe, k)
        sent, taken = piece_for(x.send, to, r, LEAST_BYTES), piece_for(x.receive, to, r, LEAST_BYTES)
        if meets(x, sent, taken, r):
            send_message(x, to, sent, epoch_of(x, to, r))
        has_next = has_next or sent.has_next or taken.has_next
    return has_next


def take_round(x: PartExchange, r: int, is_last: bool) -> None:
    """Receive a message from every PE that this block meets in round r.  After the last meeting store their number."""
    for k in range(1, x.pe.n_pes):
        source = peer(x.pe, k)
        sent, taken = piece_for(x.send, source, r, LEAST_BYTES), piece_for(x.receive, source, r, LEAST_BYTES)
        if meets(x, sent, taken, r):
            epoch, is_over = epoch_of(x, source, r), not (sent.has_next or taken.has_next)
            take_message(x, source, taken, epoch)
            if is_last or (x.receive.own == EACH and is_over):
                store_counter(x.work, word_for(x.pe, x.work, MEETINGS, source), 0, epoch)


def add_up(x: PartExchange, r: int, epoch: int) -> None:
    """Add up the pieces of this PE's part for round r, which have arrived."""
    pe, piece = x.pe, piece_for(x.receive, x.pe.me, r, LEAST_BYTES)
    src, n_items = addend(x, piece)
    if n_items > 0:
        slots, addends = slots_of(x, epoch), Piece(piece.address, src, 0, n_items, n_items * x.receive.item_bytes)
        after_heads = Slots(slots.address + HEAD_BYTES, slots.nbytes)
        combine_packets(pe, addends, Packets(after_heads, epoch), outbox_of(x.work, 1))


def exchange_parts(x: PartExchange) -> None:
    """Part p of out = part ``me`` of src of PE p; out may be src if the counts and starts of both are equal.

    inbox   (blocks, 4 half buffers), a half buffer holds (n_pes sources,) slots of packets
    outbox  (blocks, 2 buffers), the first begins with (n_pes sources,) heads
    signals (blocks, 8, n_pes) words: starts of packed parts (2), this PE's own counts of its meetings with a PE
    """
    has_next, r, goes_on = send_round(x, 0), 0, True
    copy_own(x)
    while goes_on:
        goes_on = has_next
        if goes_on:
            has_next = send_round(x, r + 1)
        take_round(x, r, not goes_on)
        r += 1


def packets_plan(call: ToCut) -> Plan:
    """Plan with pieces that fill a slot after its head.  call.n_elems: elements of the longest part; 0: unknown"""
    slot_bytes = call.limits.buffer_bytes // call.slots // PACKET_BYTES * PACKET_BYTES
    most_bytes = packed_bytes(slot_bytes - HEAD_BYTES)
    n_blocks = call.blocks(LEAST_BYTES) if call.n_elems else call.limits.max_blocks
    groups = -(-call.n_elems * call.item_bytes // (n_blocks * GROUP_DATA_BYTES))
    threads = threads_for(groups) if 0 < groups <= MANY_WARPS else 0  # all warps run the code outside the packets
    return Plan(n_blocks, cut(1 << 62, 1, most_bytes // call.item_bytes), threads)


packet_algorithm = partial(
    Algorithm, cut=packets_plan, slots=per_pe(2), holds=HEAD_AND_PACKETS, signals=per_pe(WORDS), why_not=requires_ll128
)
