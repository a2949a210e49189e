"""Direct ReduceScatter: every PE puts everybody its chunk, piece by piece, with one signal to all.

Source: the pushed one-shot of AllReduce (one_shot.py).  One piece is under way while
the one before it is added up.  Each PE sends n-1 chunks, in one hop.
"""

from ..algorithm import Algorithm, Limits, Place, Plan, by_stores, piece_plan
from ..block import block, blocks, combine, put, read_epoch, signal_all, wait_all, write_epoch


def direct(
    here, me, n_pes, item_bytes, acc_bytes, out, src, count, piece_elems, half_bytes, inbox, outbox, signals, epochs, ways
):
    """out (count,) = op over all PEs of chunk ``me`` of src (n_pes, count); out may be src[me].

    inbox   (blocks, 4 pieces in turn, half_bytes / 2), a piece holds (n_pes sources, slot) elements
    signals (blocks, n_pes sources) words;  outbox is scratch
    """
    turn_bytes = half_bytes // 2
    slot_bytes = turn_bytes // n_pes // 16 * 16
    own_inbox = inbox + block() * 2 * half_bytes
    arrived = signals + block() * n_pes * 8  # (n_pes,) words
    row_bytes = count * item_bytes
    low = block() * piece_elems
    stride = blocks() * piece_elems
    sent = epoch = read_epoch(epochs, block())
    while low < count + stride:
        # Put this piece, then finish the one before.  A PE that has finished piece e has seen all PEs
        # put piece e, which they did after reading piece e-2: with one more on its way, four turns are enough.
        if low < count:
            sent += 1
            n = min(piece_elems, count - low)
            slot = own_inbox + (sent & 3) * turn_bytes + me * slot_bytes
            for k in range(1, n_pes):
                pe = (me + k) % n_pes
                put(here, slot, src + pe * row_bytes + low * item_bytes, n * item_bytes, pe)
            signal_all(here, arrived, sent, me, n_pes)
        before = low - stride
        if 0 <= before and before < count:
            epoch += 1
            n = min(piece_elems, count - before)
            wait_all(here, arrived, epoch, me, n_pes)
            slots = own_inbox + (epoch & 3) * turn_bytes
            at = before * item_bytes
            own = src + me * row_bytes + at
            combine(here, out + at, slots, slot_bytes, own, n, outbox + block() * 2 * half_bytes, me, n_pes)
        low += stride
    write_epoch(epochs, block(), epoch)


def plan(count: int, item_bytes: int, acc_bytes: int, place: Place, limits: Limits) -> Plan:
    """See ``piece_plan``."""
    return piece_plan(count, item_bytes, 1, limits.half_bytes // 2 // place.n_pes // acc_bytes, limits)


ALGORITHM = Algorithm(
    name="direct",
    sentence="every PE's chunk put straight to it, piece by piece; one hop",
    needs="NVLink, or one device or host",
    kernel=direct,
    plan=plan,
    signals=lambda place: place.n_pes,
    outbox=False,
    refuse=by_stores,
)
