"""Ring Reduce: partial results go down the ring to the root, each PE adds its own part.

Source: the chain, or pipeline, of MPI libraries and NCCL's ring Reduce.  Each PE but
the root sends the vector once, as partials, to one neighbour.
"""

from ..algorithm import PARTIALS, Algorithm, Limits, Place, Plan, anywhere, cut
from ..block import block, blocks, finish, put_signal, read_epoch, reduce, signal, wait, widen, write_epoch

WORDS = 6  # of a block


def ring(
    ctx, me, n_pes, item_bytes, acc_bytes, out, src, count, piece_elems, buffer_bytes, inbox, outbox, signals, epochs,
    routes, root,
):  # fmt: skip
    """On PE root, out (count,) = op over all PEs of src (count,); out may be src.

    Nothing goes over the link out of the root, so each link counts its own messages: roots may change from call to call.
    inbox, outbox (blocks, 2 parities, buffer_bytes), a half holds piece_elems partials
    signals       (blocks, 3, 2) words: of a parity, pred's piece is here; succ has read one; and what
                  this PE alone counts, the pieces that it sent to succ and took from pred
    """
    succ, pred = (me + 1) % n_pes, (me + n_pes - 1) % n_pes
    arrived = signals + block() * WORDS * 8  # (2 parities,) words
    read = arrived + 2 * 8  # (2 parities,) words
    counts = read + 2 * 8
    sent, taken = read_epoch(counts, 0), read_epoch(counts, 1)
    for start in range(block() * piece_elems, count, blocks() * piece_elems):
        n = min(piece_elems, count - start)
        own = src + start * item_bytes
        piece = inbox
        if pred != root:
            # pred sends this piece once it knows that the one before the last is read, and has taken the word that
            # says so: two parities are enough, of slots and words.
            taken += 1
            piece = inbox + (block() * 2 + (taken & 1)) * buffer_bytes
            wait(ctx, arrived + (taken & 1) * 8, taken, pred)
        if me == root:
            finish(ctx, out + start * item_bytes, piece, own, n)
        else:
            sent += 1
            half = (block() * 2 + (sent & 1)) * buffer_bytes
            wait(ctx, read + (sent & 1) * 8, sent - 2, succ)  # then this outbox is free as well
            if pred == root:
                widen(ctx, outbox + half, own, n)
            else:
                reduce(ctx, outbox + half, piece, own, n)
            put_signal(ctx, inbox + half, outbox + half, n * acc_bytes, arrived + (sent & 1) * 8, sent, succ)
        if pred != root:
            signal(ctx, read + (taken & 1) * 8, taken, pred)
    write_epoch(counts, 0, sent)
    write_epoch(counts, 1, taken)


def plan(count: int, item_bytes: int, acc_bytes: int, place: Place, limits: Limits) -> Plan:
    """Blocks of at least 4 KiB in pieces of a quarter of their share, so that the PEs work at the same time."""
    n_blocks = min(limits.max_blocks, max(1, count * item_bytes // 4096))
    share_bytes = count * acc_bytes // n_blocks
    return Plan(n_blocks, cut(count, n_blocks, min(limits.buffer_bytes, max(4096, share_bytes // 4)) // acc_bytes))


ALGORITHM = Algorithm(
    name="ring",
    sentence="partial results go down the ring to the root; each PE sends the vector once, to one neighbour",
    needs="none",
    kernel=ring,
    plan=plan,
    signals=lambda place: WORDS,
    slots=lambda place, limits: 1,
    holds=PARTIALS,
    refuse=anywhere,
)
