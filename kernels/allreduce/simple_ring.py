"""Simple-ring AllReduce: the whole vector goes down the ring once, its sum once more.

Source: the Penny worklog, part 1 ("Simple ring kernel").  PE 0 starts, every PE
adds its own part and passes the partial on, the last PE completes it and the
result runs round again.  Two messages a PE: few hops' worth of signals for
small vectors, but every byte crosses every link in sequence.
"""

from ..algorithm import PARTIALS, Algorithm, Limits, Place, Plan, anywhere, cut
from ..block import block, blocks, copy, finish, put_signal, read_epoch, reduce, wait, widen, write_epoch


def simple_ring(
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

    inbox, outbox (blocks, 2 parities, buffer_bytes), a half holds (2 legs, piece_elems) partials
    signals       (blocks, 2 parities, 2 legs) words
    """
    succ, pred = (me + 1) % n_pes, (me + n_pes - 1) % n_pes
    slot_bytes = piece_elems * acc_bytes
    epoch = read_epoch(epochs, block())
    for low in range(block() * piece_elems, count, blocks() * piece_elems):
        epoch += 1
        # The result of round e+1 starts at the last PE once all have left round e, and nobody is in round e+2 before it
        # has that result, or a message of one who has: two parities are enough, of slots and words.
        parity = block() * 2 + (epoch & 1)
        slot = parity * buffer_bytes
        summed = signals + parity * 2 * 8  # word: the partial from pred is here
        spread = summed + 8  # word: the result from pred is here
        result = slot + slot_bytes
        n = min(piece_elems, count - low)
        own = src + low * item_bytes

        # down the ring: PE 0 starts, the last PE completes
        if me == 0:
            widen(ctx, outbox + slot, own, n)
            put_signal(ctx, inbox + slot, outbox + slot, n * acc_bytes, summed, epoch, succ)
        else:
            wait(ctx, summed, epoch, pred)
            if me < n_pes - 1:
                reduce(ctx, outbox + slot, inbox + slot, own, n)
                put_signal(ctx, inbox + slot, outbox + slot, n * acc_bytes, summed, epoch, succ)
            else:
                finish(ctx, outbox + result, inbox + slot, own, n)
                put_signal(ctx, inbox + result, outbox + result, n * item_bytes, spread, epoch, succ)
                copy(out + low * item_bytes, outbox + result, n * item_bytes)

        # round again: the last PE's result goes from PE 0 to PE n-2
        if me < n_pes - 1:
            wait(ctx, spread, epoch, pred)
            if me < n_pes - 2:
                put_signal(ctx, inbox + result, inbox + result, n * item_bytes, spread, epoch, succ)
            copy(out + low * item_bytes, inbox + result, n * item_bytes)
    write_epoch(epochs, block(), epoch)


def plan(count: int, item_bytes: int, acc_bytes: int, place: Place, limits: Limits) -> Plan:
    """Blocks of at least 4 KiB, pieces as large as a half allows."""
    n_blocks = min(limits.max_blocks, max(1, count * item_bytes // 4096))
    return Plan(n_blocks, cut(count, n_blocks, limits.buffer_bytes // (2 * acc_bytes)))


ALGORITHM = Algorithm(
    name="simple_ring",
    sentence="the whole vector once down the ring and once round again; two messages a PE",
    needs="none",
    kernel=simple_ring,
    plan=plan,
    signals=lambda place: 2 * 2,
    slots=lambda place, limits: 2,
    holds=PARTIALS,
    refuse=anywhere,
)
