"""Two-shot AllReduce, pushed: reduce-scatter in one hop, then all-gather in one hop.

Source: vLLM pull request 2192 (two-stage) and Penny part 2, pushed instead of
pulled: every PE reduces one chunk, puts arrive with a signal, and no barrier is
left.  Every PE sends 2 (n-1)/n of the vector, as the ring does, in two hops.
"""

from ..algorithm import Algorithm, Limits, Place, Plan, anywhere, cut
from ..block import block, blocks, combine, copy, put_signal, read_epoch, wait, write_epoch


def two_shot(
    here, me, n_pes, item_bytes, acc_bytes, out, src, count, piece_elems, half_bytes, inbox, outbox, signals, epochs, ways
):
    """out (count,) = op over all PEs of src (count,); out may be src.

    inbox   (blocks, 2 parities, half_bytes), a half holds (2 shots, n_pes sources, slot) elements
    outbox  (blocks, 2 parities, half_bytes): the reduced chunk, then scratch
    signals (blocks, 2 shots, n_pes sources) words
    """
    slot_bytes = half_bytes // (2 * n_pes) // 16 * 16
    first = signals + block() * 2 * n_pes * 8  # (n_pes,) words: a source's part of this PE's chunk is here
    second = first + n_pes * 8  # (n_pes,) words: a source's reduced chunk is here
    epoch = read_epoch(epochs, block())
    start = block() * n_pes * piece_elems
    while start < count:
        epoch += 1
        # A PE's reduced chunk of epoch e+1 proves that it has read all of epoch e: two parities are enough.
        half = (block() * 2 + (epoch & 1)) * half_bytes
        parts = inbox + half  # (n_pes, slot)
        reduced = parts + n_pes * slot_bytes  # (n_pes, slot)
        result = outbox + half

        for k in range(1, n_pes):
            pe = (me + k) % n_pes
            low = start + pe * piece_elems
            n = max(0, min(piece_elems, count - low))
            put_signal(here, parts + me * slot_bytes, src + low * item_bytes, n * item_bytes, first + me * 8, epoch, pe)

        low = start + me * piece_elems
        n = max(0, min(piece_elems, count - low))
        for k in range(1, n_pes):
            pe = (me + k) % n_pes
            wait(here, first + pe * 8, epoch, pe)
        scratch = result + slot_bytes
        combine(here, result, parts, slot_bytes, src + low * item_bytes, n, scratch, me, n_pes)
        for k in range(1, n_pes):
            pe = (me + k) % n_pes
            put_signal(here, reduced + me * slot_bytes, result, n * item_bytes, second + me * 8, epoch, pe)
        copy(out + low * item_bytes, result, n * item_bytes)

        for k in range(1, n_pes):
            pe = (me + k) % n_pes
            low = start + pe * piece_elems
            n = max(0, min(piece_elems, count - low))
            wait(here, second + pe * 8, epoch, pe)
            copy(out + low * item_bytes, reduced + pe * slot_bytes, n * item_bytes)
        start += blocks() * n_pes * piece_elems
    write_epoch(epochs, block(), epoch)


def plan(count: int, item_bytes: int, acc_bytes: int, place: Place, limits: Limits) -> Plan:
    """Blocks of at least 16 KiB, pieces as large as a slot allows."""
    n_pes = place.n_pes
    n_blocks = min(limits.max_blocks, max(1, count * item_bytes // 16384))
    largest = limits.half_bytes // (2 * n_pes) // acc_bytes
    return Plan(n_blocks, cut(count, n_pes * n_blocks, largest))


ALGORITHM = Algorithm(
    name="two_shot",
    sentence="every PE reduces one chunk and puts it to all; two hops, 2 (n-1)/n of the vector",
    needs="none",
    kernel=two_shot,
    plan=plan,
    signals=lambda place: 2 * place.n_pes,
    refuse=anywhere,
)
