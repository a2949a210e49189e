"""Gathered Reduce: each PE but the root adds up another piece of all, and gives it to the root.

Source: reduce-scatter and gather, Rabenseifner's reduce for long vectors (2004), in one
hop each.  No PE sends or receives the vector more than once.
"""

from ..algorithm import ELEMENTS, Algorithm, Limits, Place, Plan, by_stores, piece_plan
from ..block import block, blocks, combine, copy, put, put_signal, read_epoch, signal_all, wait, wait_all, write_epoch


def gathered(
    ctx, me, n_pes, item_bytes, acc_bytes, out, src, count, piece_elems, buffer_bytes, inbox, outbox, signals, epochs,
    routes, root,
):  # fmt: skip
    """On PE root, out (count,) = op over all PEs of src (count,); out may be src.

    inbox   (blocks, 2 parities, buffer_bytes), a half holds (n_pes sources, slot): parts, and on the root results
    outbox  (blocks, 2 parities, buffer_bytes): this PE's result, then scratch
    signals (blocks, 3, n_pes) words: a source's part is here; its result is; the epoch that a PE has read
    """
    pieces = n_pes - 1  # of a round: piece j is for the PE j + 1 behind the root
    slot_bytes = buffer_bytes // n_pes // 16 * 16
    first = signals + block() * 3 * n_pes * 8  # (n_pes,) words
    second = first + n_pes * 8  # (n_pes,) words
    read = second + n_pes * 8  # (n_pes,) words
    epoch = read_epoch(epochs, block())
    start = block() * pieces * piece_elems
    while start < count:
        epoch += 1
        half = (block() * 2 + (epoch & 1)) * buffer_bytes
        slots = inbox + half  # (n_pes,) slots
        wait_all(ctx, read, epoch - 2, me, n_pes)  # nobody reads what this epoch's messages overwrite
        for k in range(1, n_pes):
            pe = (me + k) % n_pes
            if pe != root:
                low = start + (pe - root - 1 + n_pes) % n_pes * piece_elems
                n = max(0, min(piece_elems, count - low))
                put(ctx, slots + me * slot_bytes, src + low * item_bytes, n * item_bytes, pe)
        signal_all(ctx, first, epoch, me, n_pes)
        if me == root:
            for k in range(1, n_pes):
                pe = (me + k) % n_pes
                low = start + (k - 1) * piece_elems
                n = max(0, min(piece_elems, count - low))
                wait(ctx, second + pe * 8, epoch, pe)
                copy(out + low * item_bytes, slots + pe * slot_bytes, n * item_bytes)
        else:
            low = start + (me - root - 1 + n_pes) % n_pes * piece_elems
            n = max(0, min(piece_elems, count - low))
            result = outbox + half
            wait_all(ctx, first, epoch, me, n_pes)
            combine(
                ctx, result, slots, slot_bytes, src + low * item_bytes, n, result + slot_bytes, me, n_pes
            )  # fmt: skip
            put_signal(ctx, slots + me * slot_bytes, result, n * item_bytes, second + me * 8, epoch, root)
        signal_all(ctx, read, epoch, me, n_pes)
        start += blocks() * pieces * piece_elems
    write_epoch(epochs, block(), epoch)


def plan(count: int, item_bytes: int, acc_bytes: int, place: Place, limits: Limits) -> Plan:
    """See ``piece_plan``."""
    return piece_plan(count, item_bytes, place.n_pes - 1, place.n_pes, limits)


ALGORITHM = Algorithm(
    name="gathered",
    sentence="each PE but the root adds up another piece and gives it to the root; two hops",
    needs="NVLink, or one device or host",
    kernel=gathered,
    plan=plan,
    signals=lambda place: 3 * place.n_pes,
    slots=lambda place, limits: place.n_pes,
    holds=ELEMENTS,
    refuse=by_stores,
)
