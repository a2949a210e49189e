"""Direct Reduce: everybody puts the root everything, piece by piece with a signal each.

Source: the pushed one-shot of AllReduce (one_shot.py), to one PE.  One hop; the root
receives the vector n-1 times, so it is for two PEs.
"""

from ..algorithm import ELEMENTS, Algorithm, Limits, Place, Plan, by_stores, piece_plan
from ..block import block, blocks, combine, put_signal, read_epoch, signal_all, wait, wait_all, write_epoch


def direct(
    ctx, me, n_pes, item_bytes, acc_bytes, out, src, count, piece_elems, buffer_bytes, inbox, outbox, signals, epochs,
    routes, root,
):  # fmt: skip
    """On PE root, out (count,) = op over all PEs of src (count,); out may be src.

    inbox   (blocks, 2 parities, buffer_bytes), a half holds (n_pes sources, slot) elements
    signals (blocks, 2, n_pes) words: a source's piece is here; the epoch that a PE has read, or needs no more
    outbox  (blocks, 2 parities, buffer_bytes) is scratch
    """
    slot_bytes = buffer_bytes // n_pes // 16 * 16
    arrived = signals + block() * 2 * n_pes * 8  # (n_pes,) words
    read = arrived + n_pes * 8  # (n_pes,) words
    epoch = read_epoch(epochs, block())
    low = block() * piece_elems
    while low < count:
        epoch += 1
        half = (block() * 2 + (epoch & 1)) * buffer_bytes
        n = min(piece_elems, count - low)
        at = low * item_bytes
        if me == root:
            wait_all(ctx, arrived, epoch, me, n_pes)
            combine(ctx, out + at, inbox + half, slot_bytes, src + at, n, outbox + half, me, n_pes)
            signal_all(ctx, read, epoch, me, n_pes)
        else:
            wait(ctx, read + root * 8, epoch - 2, root)  # the piece that this one overwrites
            put_signal(
                ctx, inbox + half + me * slot_bytes, src + at, n * item_bytes, arrived + me * 8, epoch, root
            )  # fmt: skip
        low += blocks() * piece_elems
    if me != root:
        signal_all(ctx, read, epoch, me, n_pes)  # for this PE may be the root next time
    write_epoch(epochs, block(), epoch)


def plan(count: int, item_bytes: int, acc_bytes: int, place: Place, limits: Limits) -> Plan:
    """See ``piece_plan``."""
    return piece_plan(count, item_bytes, 1, place.n_pes, limits)


ALGORITHM = Algorithm(
    name="direct",
    sentence="everybody puts the root everything, piece by piece; one hop",
    needs="NVLink, or one device or host",
    kernel=direct,
    plan=plan,
    signals=lambda place: 2 * place.n_pes,
    slots=lambda place, limits: place.n_pes,
    holds=ELEMENTS,
    outbox=False,
    refuse=by_stores,
)
