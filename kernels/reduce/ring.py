"""Ring Reduce: partial results go down the ring to the root, each PE adds its own part.

Source: the chain, or pipeline, of MPI libraries and NCCL's ring Reduce.  Each PE but
the root sends the vector once, as partials, to one neighbour.
"""

from ..algorithm import Algorithm, Limits, Place, Plan, anywhere, cut
from ..block import block, blocks, finish, put_signal, read_epoch, reduce, signal, wait, widen, write_epoch


def ring(
    here, me, n_pes, item_bytes, acc_bytes, out, src, count, piece_elems, half_bytes, inbox, outbox, signals, epochs,
    ways, root,
):  # fmt: skip
    """On PE root, out (count,) = op over all PEs of src (count,); out may be src.

    inbox, outbox (blocks, 2 parities, half_bytes), a half holds piece_elems partials
    signals       (blocks, 2) words: pred's piece is here; succ has read one
    """
    succ, pred = (me + 1) % n_pes, (me + n_pes - 1) % n_pes
    arrived = signals + block() * 2 * 8
    read = arrived + 8
    epoch = read_epoch(epochs, block())
    for start in range(block() * piece_elems, count, blocks() * piece_elems):
        epoch += 1
        half = (block() * 2 + (epoch & 1)) * half_bytes
        n = min(piece_elems, count - start)
        own = src + start * item_bytes
        if pred != root:
            wait(here, arrived, epoch, pred)
        if me == root:
            finish(here, out + start * item_bytes, inbox + half, own, n)
        else:
            # What succ has read has left this outbox, and may be overwritten in its inbox.
            wait(here, read, epoch - 2, succ)
            if pred == root:
                widen(here, outbox + half, own, n)
            else:
                reduce(here, outbox + half, inbox + half, own, n)
            put_signal(here, inbox + half, outbox + half, n * acc_bytes, arrived, epoch, succ)
        signal(here, read, epoch, pred)
    write_epoch(epochs, block(), epoch)


def plan(count: int, item_bytes: int, acc_bytes: int, place: Place, limits: Limits) -> Plan:
    """Blocks of at least 4 KiB in pieces of a quarter of their share, so that the PEs work at the same time."""
    n_blocks = min(limits.max_blocks, max(1, count * item_bytes // 4096))
    share_bytes = count * acc_bytes // n_blocks
    return Plan(n_blocks, cut(count, n_blocks, min(limits.half_bytes, max(4096, share_bytes // 4)) // acc_bytes))


ALGORITHM = Algorithm(
    name="ring",
    sentence="partial results go down the ring to the root; each PE sends the vector once, to one neighbour",
    needs="none",
    kernel=ring,
    plan=plan,
    signals=lambda place: 2,
    refuse=anywhere,
)
