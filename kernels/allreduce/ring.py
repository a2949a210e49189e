"""Ring AllReduce: reduce-scatter round the ring, then all-gather round the ring.

Source: Patarasu and Yuan, "Bandwidth optimal all-reduce algorithms for clusters
of workstations" (2009); the put-with-signal form follows the Penny worklog.

Each PE sends 2 (n-1)/n of the vector, in 2 (n-1) messages, to one neighbour.
"""

from ..algorithm import PARTIALS, Algorithm, Limits, Place, Plan, anywhere, cut
from ..block import block, blocks, copy, finish, put_signal, read_epoch, reduce, wait, widen, write_epoch


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
    """out (count,) = op over all PEs of src (count,); out may be src.

    inbox, outbox (blocks, 2 parities, buffer_bytes), a half holds (2 (n_pes-1) steps, piece_elems) partials
    signals       (blocks, 2 parities, 2 (n_pes-1) steps) words
    """
    succ, pred = (me + 1) % n_pes, (me + n_pes - 1) % n_pes
    steps = 2 * (n_pes - 1)
    slot_bytes = piece_elems * acc_bytes
    epoch = read_epoch(epochs, block())
    for start in range(block() * n_pes * piece_elems, count, blocks() * n_pes * piece_elems):
        epoch += 1
        # A PE that finished round e+1 proves that all PEs finished round e: two parities are enough, of slots and words.
        parity = block() * 2 + (epoch & 1)
        slots = parity * buffer_bytes  # byte offset of (steps, piece_elems) partials
        arrived = signals + parity * steps * 8  # (steps,) words

        # n-1 steps: pass on the partial of a chunk, one step further round the ring
        chunk = me
        for step in range(n_pes - 1):
            low = start + chunk * piece_elems
            n = max(0, min(piece_elems, count - low))
            slot = slots + step * slot_bytes
            if step == 0:
                widen(ctx, outbox + slot, src + low * item_bytes, n)
            else:
                reduce(ctx, outbox + slot, inbox + slot - slot_bytes, src + low * item_bytes, n)
            put_signal(ctx, inbox + slot, outbox + slot, n * acc_bytes, arrived + step * 8, epoch, succ)
            wait(ctx, arrived + step * 8, epoch, pred)
            chunk = (chunk + n_pes - 1) % n_pes

        # this PE's chunk has been everywhere: complete it
        low = start + chunk * piece_elems
        n = max(0, min(piece_elems, count - low))
        last = slots + (n_pes - 2) * slot_bytes
        done = slots + (n_pes - 1) * slot_bytes
        finish(ctx, outbox + done, inbox + last, src + low * item_bytes, n)
        copy(out + low * item_bytes, outbox + done, n * item_bytes)

        # n-1 steps: pass on the complete chunks
        for step in range(n_pes - 1, steps):
            slot = slots + step * slot_bytes
            if step == n_pes - 1:
                put_signal(ctx, inbox + slot, outbox + slot, n * item_bytes, arrived + step * 8, epoch, succ)
            else:
                put_signal(ctx, inbox + slot, inbox + slot - slot_bytes, n * item_bytes, arrived + step * 8, epoch, succ)
            wait(ctx, arrived + step * 8, epoch, pred)
            chunk = (chunk + n_pes - 1) % n_pes
            low = start + chunk * piece_elems
            n = max(0, min(piece_elems, count - low))
            copy(out + low * item_bytes, inbox + slot, n * item_bytes)
    write_epoch(epochs, block(), epoch)


def _steps(place: Place) -> int:
    return 2 * (place.n_pes - 1)


def plan(count: int, item_bytes: int, acc_bytes: int, place: Place, limits: Limits) -> Plan:
    """As many blocks as chunks of 4 KiB can feed, pieces as large as a half allows."""
    wanted = max(1, count * item_bytes // (place.n_pes * 4096))
    n_blocks = min(limits.max_blocks, wanted)
    return Plan(n_blocks, cut(count, place.n_pes * n_blocks, limits.buffer_bytes // (_steps(place) * acc_bytes)))


ALGORITHM = Algorithm(
    name="ring",
    sentence="reduce-scatter and all-gather round one ring; every PE sends 2 (n-1)/n of the vector",
    needs="none",
    kernel=ring,
    plan=plan,
    signals=lambda place: 2 * _steps(place),
    slots=lambda place, limits: _steps(place),
    holds=PARTIALS,
    refuse=anywhere,
)
