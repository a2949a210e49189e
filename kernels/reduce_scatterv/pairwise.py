"""Pairwise ReduceScatterv: every PE puts each other PE its part, which adds up what came in the order of the PEs.

Source: the pairwise exchange of MPI libraries, with a window of two messages for each pair of PEs.  Each PE sends n-1
parts, in one latency step.
"""

from ..algorithm import PARTIALS, Algorithm, per_pe
from ..block import sync
from ..elements import combine
from ..parts import (
    ALONE,
    EACH,
    HEAD_BYTES,
    WORDS,
    Side,
    arrival,
    await_piece,
    copy_own,
    has_more,
    is_sent,
    let_go,
    own_part,
    parts_plan,
    piece_of,
    put_round,
    sending,
    size_of_pieces,
    taking,
)
from ..records import PE, Parts, Work
from ..slots import inbox_slots, outbox_slots, slot_at
from ..steps import peer


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


def pairwise(pe: PE, call: Parts, work: Work):
    """out = op over all PEs of part ``me`` of src; out may be that part.

    inbox, signals: see ``exchange_parts``;  outbox: the same, and slot ``me`` is scratch for the partials of a piece
    """
    src, out = sending(pe, call, EACH), taking(pe, call, ALONE)
    if pe.n_pes == 1:
        copy_own(pe, src, out)
        return
    r, more = 0, True
    while more:
        more = put_round(pe, src, work, r)
        later = reduce_round(pe, src, out, work, r)
        more = more or later
        r += 1
        sync()  # the counts of this round are there


ALGORITHM = Algorithm(pairwise, parts_plan, slots=per_pe(1), holds=PARTIALS, signals=per_pe(WORDS))
