"""Ring ReduceScatter: partial results go round the ring, one step at a time.

Source: the first half of the ring AllReduce of Patarasu and Yuan (2009).  Each PE
sends n-1 chunks of partials, in n-1 messages, all to one neighbour.
"""

from ..algorithm import PARTIALS, Algorithm, Limits, Place, Plan, anywhere, cut
from ..block import block, blocks, finish, put_signal, read_epoch, reduce, wait, widen, write_epoch


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
    """out (count,) = op over all PEs of chunk ``me`` of src (n_pes, count); out may be src[me].

    inbox, outbox (blocks, 2 parities, buffer_bytes), a half holds (n_pes-1 steps, piece_elems) partials
    signals       (blocks, 2 parities, n_pes-1 steps) words
    """
    succ, pred = (me + 1) % n_pes, (me + n_pes - 1) % n_pes
    slot_bytes = piece_elems * acc_bytes
    row_bytes = count * item_bytes
    epoch = read_epoch(epochs, block())
    for start in range(block() * piece_elems, count, blocks() * piece_elems):
        epoch += 1
        # The last partial of epoch e+1 has passed through all PEs after they finished epoch e: two parities are enough,
        # of slots and words.
        parity = block() * 2 + (epoch & 1)
        half = parity * buffer_bytes
        arrived = signals + parity * (n_pes - 1) * 8  # (n_pes-1 steps,) words
        n = min(piece_elems, count - start)
        low = src + start * item_bytes
        chunk = pred
        for step in range(n_pes - 1):
            slot = half + step * slot_bytes
            if step == 0:
                widen(ctx, outbox + slot, low + chunk * row_bytes, n)
            else:
                reduce(ctx, outbox + slot, inbox + slot - slot_bytes, low + chunk * row_bytes, n)
            put_signal(ctx, inbox + slot, outbox + slot, n * acc_bytes, arrived + step * 8, epoch, succ)
            wait(ctx, arrived + step * 8, epoch, pred)
            chunk = (chunk + n_pes - 1) % n_pes
        last = inbox + half + (n_pes - 2) * slot_bytes
        finish(ctx, out + start * item_bytes, last, low + me * row_bytes, n)
    write_epoch(epochs, block(), epoch)


def plan(count: int, item_bytes: int, acc_bytes: int, place: Place, limits: Limits) -> Plan:
    """Blocks of at least 4 KiB, pieces as large as a half allows."""
    n_blocks = min(limits.max_blocks, max(1, count * item_bytes // 4096))
    return Plan(n_blocks, cut(count, n_blocks, limits.buffer_bytes // ((place.n_pes - 1) * acc_bytes)))


ALGORITHM = Algorithm(
    name="ring",
    sentence="partial results go round one ring; n-1 messages a PE, all to one neighbour",
    needs="none",
    kernel=ring,
    plan=plan,
    signals=lambda place: 2 * (place.n_pes - 1),
    slots=lambda place, limits: place.n_pes - 1,
    holds=PARTIALS,
    refuse=anywhere,
)
