"""Pairwise all-to-all: every PE puts each other PE its part, one PE after the other.

Source: the pairwise exchange of MPI libraries.  In step k a PE sends to the k-th PE
behind it, so that no two send to the same one.  n-1 messages a PE.
"""

from ..algorithm import ELEMENTS, Algorithm, Limits, Place, Plan, anywhere, cut
from ..block import block, blocks, copy, put_signal, read_epoch, wait, write_epoch


def pairwise(
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
    """out (n_pes, count) = part ``me`` of src (n_pes, count) of every PE; out may be src.

    inbox   (blocks, 2 parities, buffer_bytes), a half holds (n_pes sources, slot) elements
    outbox  (blocks, 2 parities, buffer_bytes), a half holds (n_pes destinations, slot) elements
    signals (blocks, 2 parities, n_pes sources) words
    """
    slot_bytes = buffer_bytes // n_pes // 16 * 16
    row_bytes = count * item_bytes
    epoch = read_epoch(epochs, block())
    for start in range(block() * piece_elems, count, blocks() * piece_elems):
        epoch += 1
        # A PE's piece of epoch e+1 proves that it has read all of epoch e: two parities are enough, of slots and words.
        parity = block() * 2 + (epoch & 1)
        half = parity * buffer_bytes
        arrived = signals + parity * n_pes * 8  # (n_pes,) words
        n = min(piece_elems, count - start) * item_bytes
        low = start * item_bytes
        for k in range(1, n_pes):
            pe = (me + k) % n_pes
            copy(outbox + half + pe * slot_bytes, src + pe * row_bytes + low, n)
            put_signal(
                ctx, inbox + half + me * slot_bytes, outbox + half + pe * slot_bytes, n, arrived + me * 8, epoch, pe
            )  # fmt: skip
        if out != src:
            copy(out + me * row_bytes + low, src + me * row_bytes + low, n)
        for k in range(1, n_pes):
            pe = (me + n_pes - k) % n_pes
            wait(ctx, arrived + pe * 8, epoch, pe)
            copy(out + pe * row_bytes + low, inbox + half + pe * slot_bytes, n)
    write_epoch(epochs, block(), epoch)


def plan(count: int, item_bytes: int, acc_bytes: int, place: Place, limits: Limits) -> Plan:
    """Blocks of at least 4 KiB of each part, pieces as large as a slot allows."""
    n_blocks = min(limits.max_blocks, max(1, count * item_bytes // 4096))
    return Plan(n_blocks, cut(count, n_blocks, limits.buffer_bytes // place.n_pes // 16 * 16 // item_bytes))


ALGORITHM = Algorithm(
    name="pairwise",
    sentence="every PE puts each other PE its part, one after the other",
    needs="none",
    kernel=pairwise,
    plan=plan,
    signals=lambda place: 2 * place.n_pes,
    slots=lambda place, limits: place.n_pes,
    holds=ELEMENTS,
    refuse=anywhere,
)
