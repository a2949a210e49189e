"""Two-shot AllReduce whose second shot goes straight into the peers' ``out``.

Source: the zero-copy all-gather of NCCL's symmetric windows, on top of this
library's pushed two-shot.  ``out`` is the same symmetric object on every PE, so
nothing is collected from an inbox: half of the work in a PE's own memory is saved.

A PE's ``out`` may be written as soon as its parts have come: then its kernel runs,
what was in front of it in its stream is done, and so is its reading of that chunk.
"""

from ..algorithm import ELEMENTS, Algorithm, Limits, Place, Plan, anywhere, cut
from ..block import block, blocks, combine_put, fence, read_epoch, signal_all, wait_all, write_epoch
from .two_shot import put_parts

MIN_PIECE_BYTES, MAX_PIECE_BYTES = 16384, 65536  # a fence a round costs about 2 us


def two_shot_direct(
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
    """out (count,) = op over all PEs of src (count,); out may be src, and is symmetric.

    inbox   (blocks, 4 rounds in turn, buffer_bytes / 2), a round holds (n_pes sources, slot) elements
    outbox  (blocks, 2, buffer_bytes): scratch, and (n_pes, slot) that parts start from
    signals (blocks, 2 parities, 2 shots, n_pes sources) words
    """
    turn_bytes = buffer_bytes // 2
    slot_bytes = turn_bytes // n_pes // 16 * 16
    own_inbox = inbox + block() * 2 * buffer_bytes
    scratch = outbox + block() * 2 * buffer_bytes
    rooms = scratch + buffer_bytes
    words_bytes = 2 * n_pes * 8
    first = signals + block() * 2 * words_bytes  # (n_pes,) words a parity: a source's part of this PE's chunk is here
    second = first + n_pes * 8  # (n_pes,) words a parity: a source's reduced chunks are in out
    epoch = read_epoch(epochs, block())
    start = block() * n_pes * piece_elems
    stride = blocks() * n_pes * piece_elems
    if start < count:
        slot = own_inbox + ((epoch + 1) & 3) * turn_bytes + me * slot_bytes
        put_parts(ctx, me, n_pes, item_bytes, src, count, piece_elems, start, slot, rooms, slot_bytes)
        fence(ctx)
        signal_all(ctx, first + ((epoch + 1) & 1) * words_bytes, epoch + 1, me, n_pes)
    begin = start
    while start < count:
        epoch += 1
        # The signal of a part of epoch e comes when its PE has reduced e-1: parts of e+1 find those of e-2 read, and
        # their signal that of e-1 taken: two words.  That of a call's end finds the last call's over everywhere.
        parts = own_inbox + (epoch & 3) * turn_bytes  # (n_pes, slot)
        following = start + stride
        if following < count:
            slot = own_inbox + ((epoch + 1) & 3) * turn_bytes + me * slot_bytes
            put_parts(ctx, me, n_pes, item_bytes, src, count, piece_elems, following, slot, rooms, slot_bytes)
        low = start + me * piece_elems
        n = max(0, min(piece_elems, count - low))
        at = low * item_bytes
        wait_all(ctx, first + (epoch & 1) * words_bytes, epoch, me, n_pes)
        combine_put(ctx, out + at, out + at, parts, slot_bytes, src + at, n, scratch, me, n_pes)
        fence(ctx)
        if following < count:
            signal_all(ctx, first + ((epoch + 1) & 1) * words_bytes, epoch + 1, me, n_pes)
        start = following
    if start > begin:
        second += (epoch & 1) * words_bytes
        signal_all(ctx, second, epoch, me, n_pes)
        wait_all(ctx, second, epoch, me, n_pes)
    write_epoch(epochs, block(), epoch)


def plan(count: int, item_bytes: int, acc_bytes: int, place: Place, limits: Limits) -> Plan:
    """Blocks of at least 16 KiB, pieces large enough to hide their fences."""
    n_pes = place.n_pes
    n_blocks = min(limits.max_blocks, max(1, count * item_bytes // 16384))
    largest = min(limits.buffer_bytes // 2 // n_pes // item_bytes, MAX_PIECE_BYTES // item_bytes)
    share = -(-count // (n_pes * n_blocks))
    piece = cut(count, n_pes * n_blocks, min(largest, max(share // 2, MIN_PIECE_BYTES // item_bytes)))
    return Plan(n_blocks, piece)


ALGORITHM = Algorithm(
    name="two_shot_direct",
    sentence="two_shot, the reduced chunks straight into the peers' out: for plans on a symmetric out",
    needs="a plan, and out symmetric",
    kernel=two_shot_direct,
    plan=plan,
    signals=lambda place: 2 * 2 * place.n_pes,
    slots=lambda place, limits: 2 * place.n_pes,
    holds=ELEMENTS,
    outbox=False,
    refuse=anywhere,
)
