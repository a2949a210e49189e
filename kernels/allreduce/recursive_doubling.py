"""Recursive doubling: whole vectors swapped with the PEs at distance 1, 2, 4, ...; log2 n hops.

Source: Thakur, Rabenseifner and Gropp, "Optimization of collective communication
operations in MPICH" (2005).  Few messages and a partner a hop: for small vectors
where a hop is dear, as between nodes.

Every hop doubles the PEs whose sum a PE holds.  The two partners of a hop merge
the same two partials in the same order, the lower seat's first, so by induction
all PEs of a doubled group hold the same bits.

Cost of P bytes, p the largest power of two in n, w = acc_bytes / item_bytes:
log2(p) (alpha + w P beta + P gamma), and 2 alpha + 2 P beta + P gamma more if n is not p.
"""

from ..algorithm import PARTIALS, Algorithm, Limits, Place, Plan, anywhere, cut
from ..block import block, blocks, copy, finish_merge, merge, put_signal, read_epoch, reduce, wait, widen, write_epoch
from ..folding import hops_of, new_rank, old_rank, pof2


def recursive_doubling(
    ctx,
    me,
    n_pes,
    item_bytes,
    acc_bytes,
    out,
    src,
    count,
    piece_elems,
    buffer_bytes,
    inbox,
    outbox,
    signals,
    epochs,
    routes,
):
    """out (count,) = op over all PEs of src (count,); out may be src.

    inbox, outbox (blocks, 2 parities, buffer_bytes), a half holds (fold, log2 p hops,
                  unfold) slots of piece_elems partials
    signals       (blocks, 2 parities, 2 + log2 p) words, one a slot
    """
    seats = pof2(n_pes)
    rest, unfold = n_pes - seats, 1 + hops_of(seats)
    seat = new_rank(me, rest)
    slot_bytes = piece_elems * acc_bytes
    epoch = read_epoch(epochs, block())
    low = block() * piece_elems
    while low < count:
        epoch += 1
        # A partner's message of epoch e+1 proves that it has read mine of epoch e: two parities are enough, of slots
        # and words.
        parity = block() * 2 + (epoch & 1)
        slots = parity * buffer_bytes
        arrived = signals + parity * (unfold + 1) * 8  # (unfold + 1,) words
        n = min(piece_elems, count - low)
        result = out + low * item_bytes
        if me < 2 * rest and me % 2 == 0:
            copy(outbox + slots, src + low * item_bytes, n * item_bytes)
            put_signal(ctx, inbox + slots, outbox + slots, n * item_bytes, arrived, epoch, me + 1)
            wait(ctx, arrived + unfold * 8, epoch, me + 1)
            copy(result, inbox + slots + unfold * slot_bytes, n * item_bytes)
        else:
            widen(ctx, outbox + slots, src + low * item_bytes, n)
            if me < 2 * rest:
                wait(ctx, arrived, epoch, me - 1)
                reduce(ctx, outbox + slots, outbox + slots, inbox + slots, n)
                result = outbox + slots + unfold * slot_bytes
            distance, hop = 1, 1
            while distance < seats:
                partner = old_rank(seat ^ distance, rest)
                mine = outbox + slots + (hop - 1) * slot_bytes
                theirs = inbox + slots + hop * slot_bytes
                put_signal(ctx, theirs, mine, n * acc_bytes, arrived + hop * 8, epoch, partner)
                wait(ctx, arrived + hop * 8, epoch, partner)
                first, second = mine, theirs
                if seat & distance:
                    first, second = theirs, mine
                if 2 * distance < seats:
                    merge(ctx, mine + slot_bytes, first, second, n)
                else:
                    finish_merge(ctx, result, first, second, n)
                distance, hop = 2 * distance, hop + 1
            if me < 2 * rest:
                put_signal(
                    ctx, inbox + slots + hop * slot_bytes, result, n * item_bytes, arrived + hop * 8, epoch, me - 1
                )
                copy(out + low * item_bytes, result, n * item_bytes)
        low += blocks() * piece_elems
    write_epoch(epochs, block(), epoch)


def _slots(place: Place) -> int:
    return 2 + hops_of(pof2(place.n_pes))


def plan(count: int, item_bytes: int, acc_bytes: int, place: Place, limits: Limits) -> Plan:
    """Blocks of at least 4 KiB, pieces as large as a slot allows."""
    n_blocks = min(limits.max_blocks, max(1, count * item_bytes // 4096))
    return Plan(n_blocks, cut(count, n_blocks, limits.buffer_bytes // (_slots(place) * acc_bytes)))


ALGORITHM = Algorithm(
    name="recursive_doubling",
    sentence="whole vectors swapped with the PEs at distance 1, 2, 4, ...; log2 n hops",
    needs="none",
    kernel=recursive_doubling,
    plan=plan,
    signals=lambda place: 2 * _slots(place),
    slots=lambda place, limits: _slots(place),
    holds=PARTIALS,
    refuse=anywhere,
)
