"""Ring AllGather: the parts go round the ring, one step at a time.

Source: the second half of the ring AllReduce of Patarasu and Yuan (2009).  Each PE
sends n-1 parts, in n-1 messages, all to one neighbour.
"""

from ..algorithm import ELEMENTS, Algorithm, Limits, Place, Plan, anywhere, cut
from ..block import block, blocks, copy, put_signal, read_epoch, wait, write_epoch


def ring(
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

    inbox   (blocks, 2 parities, buffer_bytes), a half holds (n_pes-1 steps, piece_elems) elements
    outbox  (blocks, 2 parities, buffer_bytes): this PE's piece
    signals (blocks, 2 parities, n_pes-1 steps) words
    """
    succ, pred = (me + 1) % n_pes, (me + n_pes - 1) % n_pes
    slot_bytes = piece_elems * item_bytes
    row_bytes = count * item_bytes
    epoch = read_epoch(epochs, block())
    for start in range(block() * piece_elems, count, blocks() * piece_elems):
        epoch += 1
        # A PE that has all pieces of epoch e+1 knows that all PEs finished epoch e: two parities are enough, of slots
        # and words.
        parity = block() * 2 + (epoch & 1)
        half = parity * buffer_bytes
        arrived = signals + parity * (n_pes - 1) * 8  # (n_pes-1 steps,) words
        n = min(piece_elems, count - start) * item_bytes
        low = start * item_bytes
        copy(outbox + half, src + low, n)
        put_signal(ctx, inbox + half, outbox + half, n, arrived, epoch, succ)
        if out + me * row_bytes != src:
            copy(out + me * row_bytes + low, outbox + half, n)
        part = me
        for step in range(n_pes - 1):
            slot = inbox + half + step * slot_bytes
            part = (part + n_pes - 1) % n_pes
            wait(ctx, arrived + step * 8, epoch, pred)
            if step < n_pes - 2:
                put_signal(ctx, slot + slot_bytes, slot, n, arrived + step * 8 + 8, epoch, succ)
            copy(out + part * row_bytes + low, slot, n)
    write_epoch(epochs, block(), epoch)


def plan(count: int, item_bytes: int, acc_bytes: int, place: Place, limits: Limits) -> Plan:
    """Blocks of at least 4 KiB, pieces as large as a half allows."""
    n_blocks = min(limits.max_blocks, max(1, count * item_bytes // 4096))
    return Plan(n_blocks, cut(count, n_blocks, limits.buffer_bytes // ((place.n_pes - 1) * item_bytes)))


ALGORITHM = Algorithm(
    name="ring",
    sentence="the parts go round one ring; n-1 messages a PE, all to one neighbour",
    needs="none",
    kernel=ring,
    plan=plan,
    signals=lambda place: 2 * (place.n_pes - 1),
    slots=lambda place, limits: place.n_pes - 1,
    holds=ELEMENTS,
    refuse=anywhere,
)
