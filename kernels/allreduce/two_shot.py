"""Two-shot AllReduce, pushed: reduce-scatter in one hop, then all-gather in one hop.

Source: vLLM pull request 2192 (two-stage) and Penny part 2, pushed instead of
pulled: every PE reduces one chunk, puts arrive with a signal, and no barrier is
left.  Every PE sends 2 (n-1)/n of the vector, as the ring does, in two hops.

The links are kept busy: a round puts the pieces of the next one before it waits
for its own, and collects the reduced chunks of the one before.  Its signals come
at its end, when the puts in front of them have long arrived.
"""

from ..algorithm import ELEMENTS, Algorithm, Limits, Place, Plan, anywhere, cut
from ..block import (
    block,
    blocks,
    combine_put,
    copy,
    fence,
    plus,
    put,
    read_epoch,
    signal_all,
    staged,
    wait_all,
    write_epoch,
)

PIECES, MIN_PIECE_BYTES = 4, 16384  # a fence a round costs about 2 us


def put_parts(ctx, me, n_pes, item_bytes, src, count, piece_elems, start, slot, rooms, slot_bytes):
    """To every PE this PE's part of its chunk, in ``slot`` of its inbox.  rooms (n_pes, slot_bytes): see ``staged``."""
    for k in range(1, n_pes):
        pe = (me + k) % n_pes
        low = start + pe * piece_elems
        nbytes = max(0, min(piece_elems, count - low)) * item_bytes
        put(ctx, slot, staged(ctx, rooms + pe * slot_bytes, src + low * item_bytes, nbytes, pe), nbytes, pe)


def collect(ctx, me, n_pes, item_bytes, out, count, piece_elems, start, reduced, slot_bytes, residual):
    """From every PE the chunk that it reduced."""
    for k in range(1, n_pes):
        pe = (me + k) % n_pes
        low = start + pe * piece_elems
        n = max(0, min(piece_elems, count - low))
        at = low * item_bytes
        if residual:
            plus(ctx, out + at, reduced + pe * slot_bytes, residual + at, n)
        else:
            copy(out + at, reduced + pe * slot_bytes, n * item_bytes)


def two_shot(
    ctx, me, n_pes, item_bytes, acc_bytes, out, src, count, piece_elems, buffer_bytes, inbox, outbox, signals, epochs,
    routes, residual,
):  # fmt: skip
    """out (count,) = op over all PEs of src (count,), plus residual (count,) if not 0; out may be src or residual.

    The result is rounded before it travels, and once more when the residual is added.

    inbox   (blocks, 4 rounds in turn, buffer_bytes / 2), a round holds (2 shots, n_pes sources, slot) elements
    outbox  (blocks, 2, buffer_bytes): scratch, and (n_pes, slot) that parts start from
    signals (blocks, 2 parities, 2 shots, n_pes sources) words
    """
    turn_bytes = buffer_bytes // 2
    slot_bytes = turn_bytes // (2 * n_pes) // 16 * 16
    own_inbox = inbox + block() * 2 * buffer_bytes
    scratch = outbox + block() * 2 * buffer_bytes
    rooms = scratch + buffer_bytes
    words_bytes = 2 * n_pes * 8
    first = signals + block() * 2 * words_bytes  # (n_pes,) words a parity: a source's part of this PE's chunk is here
    second = first + n_pes * 8  # (n_pes,) words a parity: a source's reduced chunk is here
    epoch = read_epoch(epochs, block())
    start = block() * n_pes * piece_elems
    stride = blocks() * n_pes * piece_elems
    if start < count:
        parts = own_inbox + ((epoch + 1) & 3) * turn_bytes
        slot = parts + me * slot_bytes
        put_parts(ctx, me, n_pes, item_bytes, src, count, piece_elems, start, slot, rooms, slot_bytes)
        fence(ctx)
        signal_all(ctx, first + ((epoch + 1) & 1) * words_bytes, epoch + 1, me, n_pes)
    reduced = 0
    begin = start
    while start < count:
        epoch += 1
        # The signal of a part of epoch e comes when its PE is done with epoch e-1 and has collected e-2. So
        # parts of e+1 find those of e-2 read, and a reduced chunk of e that of e-2: four turns are enough.  A signal
        # of e finds that of e-2 taken, for what its receiver sent in e-1, or at the end of a call, came after: two words.
        now, other = (epoch & 1) * words_bytes, ((epoch + 1) & 1) * words_bytes
        parts = own_inbox + (epoch & 3) * turn_bytes  # (n_pes, slot)
        following = start + stride
        if following < count:
            slot = own_inbox + ((epoch + 1) & 3) * turn_bytes + me * slot_bytes
            put_parts(ctx, me, n_pes, item_bytes, src, count, piece_elems, following, slot, rooms, slot_bytes)

        low = start + me * piece_elems
        n = max(0, min(piece_elems, count - low))
        at = low * item_bytes
        wait_all(ctx, first + now, epoch, me, n_pes)
        # In out, or if that may be the residual, in the one slot that no peer writes.
        result = parts + me * slot_bytes if residual else out + at
        there = parts + (n_pes + me) * slot_bytes
        combine_put(ctx, result, there, parts, slot_bytes, src + at, n, scratch, me, n_pes)
        if residual:
            plus(ctx, out + at, result, residual + at, n)

        if start > begin:
            wait_all(ctx, second + other, epoch - 1, me, n_pes)
            collect(ctx, me, n_pes, item_bytes, out, count, piece_elems, start - stride, reduced, slot_bytes, residual)
        fence(ctx)
        signal_all(ctx, second + now, epoch, me, n_pes)
        if following < count:
            signal_all(ctx, first + other, epoch + 1, me, n_pes)
        reduced = parts + n_pes * slot_bytes  # (n_pes, slot)
        start = following
    if start > begin:
        wait_all(ctx, second + (epoch & 1) * words_bytes, epoch, me, n_pes)
        collect(ctx, me, n_pes, item_bytes, out, count, piece_elems, start - stride, reduced, slot_bytes, residual)
    write_epoch(epochs, block(), epoch)


def plan(count: int, item_bytes: int, acc_bytes: int, place: Place, limits: Limits) -> Plan:
    """Blocks of at least 16 KiB; pieces large enough to hide their fences."""
    n_pes = place.n_pes
    n_blocks = min(limits.max_blocks, max(1, count * item_bytes // 16384))
    largest = limits.buffer_bytes // 2 // (2 * n_pes) // item_bytes
    share = -(-count // (n_pes * n_blocks))
    piece = cut(count, n_pes * n_blocks, min(largest, max(share // PIECES, MIN_PIECE_BYTES // item_bytes)))
    return Plan(n_blocks, piece)


ALGORITHM = Algorithm(
    name="two_shot",
    sentence="every PE reduces one chunk and puts it to all; two hops, 2 (n-1)/n of the vector",
    needs="none",
    kernel=two_shot,
    plan=plan,
    signals=lambda place: 2 * 2 * place.n_pes,
    slots=lambda place, limits: 4 * place.n_pes,
    holds=ELEMENTS,
    outbox=False,
    refuse=anywhere,
    residual=True,
)
