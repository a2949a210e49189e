"""Spread Broadcast: the root gives each other PE another piece, and they give it to one another.

Source: scatter and all-gather, as van de Geijn's broadcast for long vectors (Barnett
et al. 1994), in one hop each.  No PE sends or receives the vector more than once.
"""

from ..algorithm import ELEMENTS, Algorithm, Limits, Place, Plan, by_stores, piece_plan
from ..block import block, blocks, copy, put, read_epoch, signal_all, wait, wait_all, write_epoch


def spread(
    ctx, me, n_pes, item_bytes, acc_bytes, out, src, count, piece_elems, buffer_bytes, inbox, outbox, signals, epochs,
    routes, root,
):  # fmt: skip
    """out (count,) = src (count,) of PE root; out is src.

    inbox   (blocks, 2 parities, buffer_bytes), a half holds (n_pes-1 pieces, slot) elements
    signals (blocks, 2, n_pes) words: a source's piece is here; the epoch that a PE has read
    """
    pieces = n_pes - 1  # of a round: piece j goes by the PE j + 1 behind the root
    slot_bytes = buffer_bytes // pieces // 16 * 16
    arrived = signals + block() * 2 * n_pes * 8  # (n_pes,) words
    read = arrived + n_pes * 8  # (n_pes,) words
    epoch = read_epoch(epochs, block())
    start = block() * pieces * piece_elems
    while start < count:
        epoch += 1
        slots = inbox + (block() * 2 + (epoch & 1)) * buffer_bytes  # (n_pes-1,) slots
        wait_all(ctx, read, epoch - 2, me, n_pes)  # nobody reads what this epoch's pieces overwrite
        if me == root:
            for k in range(1, n_pes):
                low = start + (k - 1) * piece_elems
                n = max(0, min(piece_elems, count - low))
                slot = slots + (k - 1) * slot_bytes
                put(ctx, slot, src + low * item_bytes, n * item_bytes, (me + k) % n_pes)
            signal_all(ctx, arrived, epoch, me, n_pes)
        else:
            for k in range(n_pes):  # this PE's piece first, then those of the PEs behind it
                pe = (me + k) % n_pes
                if pe != root:
                    j = (pe - root - 1 + n_pes) % n_pes
                    low = start + j * piece_elems
                    n = max(0, min(piece_elems, count - low))
                    slot = slots + j * slot_bytes
                    if k == 0:
                        wait(ctx, arrived + root * 8, epoch, root)
                        for other in range(1, n_pes):
                            to = (me + other) % n_pes
                            if to != root:
                                put(ctx, slot, slot, n * item_bytes, to)
                        if n_pes > 2:
                            signal_all(ctx, arrived, epoch, me, n_pes)
                    else:
                        wait(ctx, arrived + pe * 8, epoch, pe)
                    copy(out + low * item_bytes, slot, n * item_bytes)
        signal_all(ctx, read, epoch, me, n_pes)
        start += blocks() * pieces * piece_elems
    write_epoch(epochs, block(), epoch)


def plan(count: int, item_bytes: int, acc_bytes: int, place: Place, limits: Limits) -> Plan:
    """See ``piece_plan``."""
    return piece_plan(count, item_bytes, place.n_pes - 1, place.n_pes - 1, limits)


ALGORITHM = Algorithm(
    name="spread",
    sentence="the root gives each PE another piece, and they give it to one another; two hops",
    needs="NVLink, or one device or host",
    kernel=spread,
    plan=plan,
    signals=lambda place: 2 * place.n_pes,
    slots=lambda place, limits: place.n_pes - 1,
    holds=ELEMENTS,
    outbox=False,
    refuse=by_stores,
)
