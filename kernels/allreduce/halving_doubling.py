"""Recursive halving, then recursive doubling: 2 log2 n hops, and no more bytes than a ring.

Source: Rabenseifner, "Optimization of collective reduction operations" (2004); the
"butterfly" of vLLM pull request 2192.  In the first half of the hops the two partners
share what they hold, each gives one half away and adds up the other; the second half
of the hops runs backwards and collects the finished chunks.

A chunk's last hop is on one PE, which hands its bits on: they are the same everywhere.

Cost of P bytes, p the largest power of two in n, w = acc_bytes / item_bytes:
2 log2(p) alpha + (1 + w) (p-1)/p P beta + (p-1)/p P gamma, and 2 alpha + 2 P beta + P gamma more if n is not p.
"""

from ..algorithm import PARTIALS, Algorithm, Limits, Place, Plan, anywhere, cut
from ..block import block, blocks, copy, finish_merge, merge, put_signal, read_epoch, reduce, wait, widen, write_epoch
from ..folding import hops_of, new_rank, old_rank, pof2


def halving_doubling(
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
    """out (count,) = op over all PEs of src (count,); out may be src.  A piece is a seat's chunk.

    inbox   (blocks, 2 parities, buffer_bytes), a half holds (fold, halving, result) of p pieces of partials each;
            what comes in at distance d is d pieces at piece d of "halving"
    outbox  (blocks, 2 parities, buffer_bytes), a half holds p pieces of partials
    signals (blocks, 2 parities, 2 + 2 log2 p) words: fold, then one a hop, then unfold
    """
    seats = pof2(n_pes)
    rest, unfold = n_pes - seats, 1 + 2 * hops_of(seats)
    seat = new_rank(me, rest)
    area_bytes = seats * piece_elems * acc_bytes
    epoch = read_epoch(epochs, block())
    start = block() * seats * piece_elems
    while start < count:
        epoch += 1
        # A partner's message of epoch e+1 proves that it has read mine of epoch e: two parities are enough, of slots
        # and words.
        parity = block() * 2 + (epoch & 1)
        half = parity * buffer_bytes
        arrived = signals + parity * (unfold + 1) * 8  # (unfold + 1,) words
        given, result = inbox + half, inbox + half + 2 * area_bytes
        parts = outbox + half
        n = min(seats * piece_elems, count - start)
        if me < 2 * rest and me % 2 == 0:
            copy(parts, src + start * item_bytes, n * item_bytes)
            put_signal(ctx, given, parts, n * item_bytes, arrived, epoch, me + 1)
            wait(ctx, arrived + unfold * 8, epoch, me + 1)
        else:
            widen(ctx, parts, src + start * item_bytes, n)
            if me < 2 * rest:
                wait(ctx, arrived, epoch, me - 1)
                reduce(ctx, parts, parts, given, n)

            # halving: at distance d a PE keeps the d pieces around its own, and gives the partner's d away
            distance, hop = seats // 2, 1
            while distance > 0:
                partner = old_rank(seat ^ distance, rest)
                keep, give = (seat & -distance) * piece_elems, ((seat ^ distance) & -distance) * piece_elems
                n_keep = max(0, min(distance * piece_elems, n - keep))
                n_give = max(0, min(distance * piece_elems, n - give))
                theirs = given + area_bytes + distance * piece_elems * acc_bytes
                put_signal(ctx, theirs, parts + give * acc_bytes, n_give * acc_bytes, arrived + hop * 8, epoch, partner)
                wait(ctx, arrived + hop * 8, epoch, partner)
                mine = parts + keep * acc_bytes
                if distance > 1:
                    merge(ctx, mine, mine, theirs, n_keep)
                else:
                    finish_merge(ctx, result + keep * item_bytes, mine, theirs, n_keep)
                distance, hop = distance // 2, hop + 1

            # doubling: the same partners in the other order, and the finished pieces stay where they belong
            distance = 1
            while distance < seats:
                partner = old_rank(seat ^ distance, rest)
                have = (seat & -distance) * piece_elems
                n_have = max(0, min(distance * piece_elems, n - have))
                at = result + have * item_bytes
                put_signal(ctx, at, at, n_have * item_bytes, arrived + hop * 8, epoch, partner)
                wait(ctx, arrived + hop * 8, epoch, partner)
                distance, hop = 2 * distance, hop + 1
            if me < 2 * rest:
                put_signal(ctx, result, result, n * item_bytes, arrived + hop * 8, epoch, me - 1)
        copy(out + start * item_bytes, result, n * item_bytes)
        start += blocks() * seats * piece_elems
    write_epoch(epochs, block(), epoch)


def _signals(place: Place) -> int:
    return 2 * (2 + 2 * hops_of(pof2(place.n_pes)))


def plan(count: int, item_bytes: int, acc_bytes: int, place: Place, limits: Limits) -> Plan:
    """As many blocks as pieces of 4 KiB can feed, pieces as large as a half allows."""
    seats = pof2(place.n_pes)
    n_blocks = min(limits.max_blocks, max(1, count * item_bytes // (seats * 4096)))
    return Plan(n_blocks, cut(count, seats * n_blocks, limits.buffer_bytes // (3 * seats * acc_bytes)))


ALGORITHM = Algorithm(
    name="halving_doubling",
    sentence="half of what is left to the PE at distance n/2, n/4, ..., and back; 2 log2 n hops, 2 (n-1)/n of the vector",
    needs="none",
    kernel=halving_doubling,
    plan=plan,
    signals=_signals,
    slots=lambda place, limits: 3 * pof2(place.n_pes),
    holds=PARTIALS,
    refuse=anywhere,
)
