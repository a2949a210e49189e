"""Naive AllGather: every PE puts its part to each other PE, one after the other.

Source: the way that a loop of MPI sends would go.  Each PE sends its part n-1 times,
in n-1 messages, and waits for as many.
"""

from ..algorithm import ELEMENTS, Algorithm, Limits, Place, Plan, anywhere, cut
from ..block import block, blocks, copy, put_signal, read_epoch, wait, write_epoch


def naive(
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
    """out (n_pes, count) = src (count,) of every PE; src may be out[me].

    inbox   (blocks, 2 parities, buffer_bytes), a half holds (n_pes sources, piece_elems) elements
    outbox  (blocks, 2 parities, buffer_bytes): this PE's piece
    signals (blocks, 2 parities, n_pes sources) words
    """
    slot_bytes = buffer_bytes // n_pes // 16 * 16
    row_bytes = count * item_bytes
    epoch = read_epoch(epochs, block())
    for start in range(block() * piece_elems, count, blocks() * piece_elems):
        epoch += 1
        # A PE's piece of epoch e+1 proves that it has read all of epoch e: two parities are enough, of slots and words.
        parity = block() * 2 + (epoch & 1)
        half = parity * buffer_bytes
        arrived = signals + parity * n_pes * 8  # (n_pes,) words
        slot = inbox + half + me * slot_bytes
        n = min(piece_elems, count - start) * item_bytes
        low = start * item_bytes
        copy(outbox + half, src + low, n)
        for k in range(1, n_pes):
            put_signal(ctx, slot, outbox + half, n, arrived + me * 8, epoch, (me + k) % n_pes)
        if out + me * row_bytes != src:
            copy(out + me * row_bytes + low, outbox + half, n)
        for k in range(1, n_pes):
            pe = (me + k) % n_pes
            wait(ctx, arrived + pe * 8, epoch, pe)
            copy(out + pe * row_bytes + low, inbox + half + pe * slot_bytes, n)
    write_epoch(epochs, block(), epoch)


def plan(count: int, item_bytes: int, acc_bytes: int, place: Place, limits: Limits) -> Plan:
    """Blocks of at least 4 KiB, pieces as large as a slot allows."""
    n_blocks = min(limits.max_blocks, max(1, count * item_bytes // 4096))
    return Plan(n_blocks, cut(count, n_blocks, limits.buffer_bytes // place.n_pes // 16 * 16 // item_bytes))


ALGORITHM = Algorithm(
    name="naive",
    sentence="every PE puts its part to each other PE, one after the other",
    needs="none",
    kernel=naive,
    plan=plan,
    signals=lambda place: 2 * place.n_pes,
    slots=lambda place, limits: place.n_pes,
    holds=ELEMENTS,
    refuse=anywhere,
)
