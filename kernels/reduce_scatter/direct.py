"""Direct ReduceScatter: every PE puts everybody its chunk, piece by piece, with one signal to all.

Source: the pushed one-shot of AllReduce (one_shot.py).  One piece is under way while
the one before it is added up; its signal comes after that, when the piece has long
arrived.  Each PE sends n-1 chunks, in one hop.
"""

from ..algorithm import ELEMENTS, Algorithm, Limits, Place, Plan, by_stores, piece_plan
from ..block import block, blocks, combine, fence, put, read_epoch, signal_all, wait_all, write_epoch


def put_chunks(ctx, me, n_pes, item_bytes, src, count, low, piece_elems, slot):
    """To every PE the piece at ``low`` of its chunk, in ``slot`` of its inbox."""
    n = min(piece_elems, count - low)
    for k in range(1, n_pes):
        pe = (me + k) % n_pes
        put(ctx, slot, src + (pe * count + low) * item_bytes, n * item_bytes, pe)


def direct(
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

    inbox   (blocks, 4 pieces in turn, buffer_bytes / 2), a piece holds (n_pes sources, slot) elements
    signals (blocks, n_pes sources) words;  outbox is scratch
    """
    turn_bytes = buffer_bytes // 2
    slot_bytes = turn_bytes // n_pes // 16 * 16
    own_inbox = inbox + block() * 2 * buffer_bytes
    scratch = outbox + block() * 2 * buffer_bytes
    arrived = signals + block() * n_pes * 8  # (n_pes,) words
    low = block() * piece_elems
    stride = blocks() * piece_elems
    epoch = read_epoch(epochs, block())
    if low < count:
        slot = own_inbox + ((epoch + 1) & 3) * turn_bytes + me * slot_bytes
        put_chunks(ctx, me, n_pes, item_bytes, src, count, low, piece_elems, slot)
        fence(ctx)
        signal_all(ctx, arrived, epoch + 1, me, n_pes)
    while low < count:
        epoch += 1
        # Put the next piece, then finish this one.  A PE signals piece e+1 when it has read piece e, so
        # that a piece finds the one three before it read: four turns are enough.
        following = low + stride
        if following < count:
            slot = own_inbox + ((epoch + 1) & 3) * turn_bytes + me * slot_bytes
            put_chunks(ctx, me, n_pes, item_bytes, src, count, following, piece_elems, slot)
        n = min(piece_elems, count - low)
        own = src + (me * count + low) * item_bytes
        wait_all(ctx, arrived, epoch, me, n_pes)
        slots = own_inbox + (epoch & 3) * turn_bytes
        combine(ctx, out + low * item_bytes, slots, slot_bytes, own, n, scratch, me, n_pes)
        if following < count:
            fence(ctx)
            signal_all(ctx, arrived, epoch + 1, me, n_pes)
        low = following
    write_epoch(epochs, block(), epoch)


def plan(count: int, item_bytes: int, acc_bytes: int, place: Place, limits: Limits) -> Plan:
    """See ``piece_plan``."""
    return piece_plan(count, item_bytes, 1, 2 * place.n_pes, limits)


ALGORITHM = Algorithm(
    name="direct",
    sentence="every PE's chunk put straight to it, piece by piece; one hop",
    needs="NVLink, or one device or host",
    kernel=direct,
    plan=plan,
    signals=lambda place: place.n_pes,
    slots=lambda place, limits: 2 * place.n_pes,
    holds=ELEMENTS,
    outbox=False,
    refuse=by_stores,
)
