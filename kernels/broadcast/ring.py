"""Ring Broadcast: the pieces go down the ring from the root, each PE passes them on.

Source: the chain, or pipeline, of MPI libraries and NCCL's ring Broadcast.  Each PE
but the last sends the vector once, to one neighbour.
"""

from ..algorithm import Algorithm, Limits, Place, Plan, anywhere, cut
from ..block import block, blocks, copy, put_signal, read_epoch, signal, wait, write_epoch


def ring(
    here, me, n_pes, item_bytes, acc_bytes, out, src, count, piece_elems, half_bytes, inbox, outbox, signals, epochs,
    ways, root,
):  # fmt: skip
    """out (count,) = src (count,) of PE root; out is src.

    inbox, outbox (blocks, 2 parities, half_bytes), a half holds piece_elems elements
    signals       (blocks, 2) words: pred's piece is here; succ has read one
    """
    succ, pred = (me + 1) % n_pes, (me + n_pes - 1) % n_pes
    arrived = signals + block() * 2 * 8
    read = arrived + 8
    epoch = read_epoch(epochs, block())
    for start in range(block() * piece_elems, count, blocks() * piece_elems):
        epoch += 1
        half = (block() * 2 + (epoch & 1)) * half_bytes
        n = min(piece_elems, count - start) * item_bytes
        low = start * item_bytes
        if me != root:
            wait(here, arrived, epoch, pred)
        if succ != root:
            # succ writes to nobody before it has read: neither its inbox nor this outbox is in use from epoch-2.
            wait(here, read, epoch - 2, succ)
            copy(outbox + half, src + low if me == root else inbox + half, n)
            put_signal(here, inbox + half, outbox + half, n, arrived, epoch, succ)
        if me != root:
            copy(out + low, inbox + half, n)
        signal(here, read, epoch, pred)
    write_epoch(epochs, block(), epoch)


def plan(count: int, item_bytes: int, acc_bytes: int, place: Place, limits: Limits) -> Plan:
    """Blocks of at least 4 KiB in pieces of a quarter of their share, so that the PEs work at the same time."""
    n_blocks = min(limits.max_blocks, max(1, count * item_bytes // 4096))
    share_bytes = count * item_bytes // n_blocks
    return Plan(n_blocks, cut(count, n_blocks, min(limits.half_bytes, max(4096, share_bytes // 4)) // item_bytes))


ALGORITHM = Algorithm(
    name="ring",
    sentence="pieces go down the ring from the root; each PE sends the vector once, to one neighbour",
    needs="none",
    kernel=ring,
    plan=plan,
    signals=lambda place: 2,
    refuse=anywhere,
)
