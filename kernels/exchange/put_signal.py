"""Exchange, fused form: each message is one put_signal; one thread waits.

Source: the Penny worklog, part 1.  The put orders its own signal, and the two
PEs never meet at a barrier.
"""

from ..block import block, copy, fence, put_signal, stage_for_put, wait
from ..records import PE, Message, Work
from ..slots import word
from ..steps import load_counter, rounds, store_counter


def exchange_put_signal(pe: PE, swap: Message, work: Work, max_blocks: int):
    """dst (nbytes,) = src (nbytes,) of the peer, and the other way round; dst may be src.

    inbox, outbox, signals, epochs: as of ``exchange_put_fence_signal``
    """
    from_me, from_peer = pe.me * max_blocks + block(), swap.peer * max_blocks + block()
    epoch = load_counter(work, work.epochs, from_peer)
    for start in rounds(swap.nbytes, work.buffer_bytes):
        epoch += 1
        # The peer's message of epoch e+1 proves that it has read epoch e: two buffers are enough, and two words.
        theirs, own = from_me * 2 + (epoch & 1), from_peer * 2 + (epoch & 1)
        nbytes = min(work.buffer_bytes, swap.nbytes - start)
        piece = stage_for_put(pe.ctx, work.outbox + block() * work.buffer_bytes, swap.src + start, nbytes, swap.peer)
        slot = work.inbox + theirs * work.buffer_bytes
        put_signal(pe.ctx, slot, piece, nbytes, word(work.signals, theirs), epoch, swap.peer)
        wait(pe.ctx, word(work.signals, own), epoch, swap.peer)
        fence(pe.ctx)  # the peer's piece may be here before this PE's has left src, which may be dst, or the outbox
        copy(swap.dst + start, work.inbox + own * work.buffer_bytes, nbytes)
    store_counter(work, work.epochs, from_peer, epoch)
