"""Exchange, first form: put, then a barrier of all PEs.

Source: the Penny worklog, part 1.  The simplest thing that is right: after the
barrier every put has landed.  All PEs of the team take part, each with its own
partner (itself, when it has none).
"""

from ..block import block, copy, put, stage_for_put, wait_all
from ..records import PE, Message, Work
from ..slots import inbox_of, words
from ..steps import fence_signal_all, load_epoch, rounds, store_epoch


def exchange_put_barrier(pe: PE, swap: Message, work: Work):
    """dst (nbytes,) = src (nbytes,) of the peer, and the other way round; dst may be src.

    A buffer holds a piece.
    inbox   (max_blocks, 2 buffers)
    outbox  (max_blocks, 1 buffer), which a piece may start from
    signals (max_blocks, 2, n_pes sources) words;  epochs (max_blocks,), this PE's own
    """
    epoch = load_epoch(work)
    for start in rounds(swap.nbytes, work.buffer_bytes):
        epoch += 1
        # All PEs' signals of epoch e+1 prove that all have read epoch e: two buffers are enough, and two sets of words.
        slot, arrived = inbox_of(work, epoch), words(work, epoch, pe.n_pes)
        nbytes = min(work.buffer_bytes, swap.nbytes - start)
        piece = stage_for_put(pe.ctx, work.outbox + block() * work.buffer_bytes, swap.src + start, nbytes, swap.peer)
        put(pe.ctx, slot, piece, nbytes, swap.peer)
        fence_signal_all(pe, arrived, epoch)
        wait_all(pe.ctx, arrived, epoch, pe.me, pe.n_pes)
        copy(swap.dst + start, slot, nbytes)
    store_epoch(work, epoch)
