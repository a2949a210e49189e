"""Exchange, second form: put, fence, then a separate signal.

Source: the Penny worklog, part 1.  Replaces the barrier by a signal between the
two PEs; the fence orders the signal after the data.
"""

from ..block import block, copy, fence, put, signal, stage_for_put, wait
from ..records import PE, Message, Work
from ..slots import word
from ..steps import load_counter, rounds, store_counter


def exchange_put_fence_signal(pe: PE, swap: Message, work: Work, max_blocks: int):
    """dst (nbytes,) = src (nbytes,) of the peer, and the other way round; dst may be src.

    A buffer holds a piece.
    inbox   (n_pes sources, max_blocks, 2 buffers)
    outbox  (max_blocks, 1 buffer), which a piece may start from
    signals (n_pes sources, max_blocks, 2) words;  epochs (n_pes, max_blocks), this PE's own
    """
    from_me, from_peer = pe.me * max_blocks + block(), swap.peer * max_blocks + block()
    epoch = load_counter(work, work.epochs, from_peer)
    for start in rounds(swap.nbytes, work.buffer_bytes):
        epoch += 1
        # The peer's message of epoch e+1 proves that it has read epoch e: two buffers are enough, and two words.
        theirs, own = from_me * 2 + (epoch & 1), from_peer * 2 + (epoch & 1)
        nbytes = min(work.buffer_bytes, swap.nbytes - start)
        piece = stage_for_put(pe.ctx, work.outbox + block() * work.buffer_bytes, swap.src + start, nbytes, swap.peer)
        put(pe.ctx, work.inbox + theirs * work.buffer_bytes, piece, nbytes, swap.peer)
        fence(pe.ctx)
        signal(pe.ctx, word(work.signals, theirs), epoch, swap.peer)
        wait(pe.ctx, word(work.signals, own), epoch, swap.peer)
        copy(swap.dst + start, work.inbox + own * work.buffer_bytes, nbytes)
    store_counter(work, work.epochs, from_peer, epoch)
