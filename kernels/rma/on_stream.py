"""One-sided operations in stream order: put, get, put_signal, wait_signal, barrier.

Block puts in the manner of NVSHMEM's ``putmem_block``: every block moves its
share of the bytes.  They cost one launch, where a host call of the copy engine
costs several times as much host time.
"""

from ..block import arrive_last, block, blocks
from ..messages import fence, get, put, put_signal, read_epoch, signal, signal_all, wait, wait_all, write_epoch
from ..records import PE, Message
from ..slots import word

SHARE_BYTES = 16  # shares are cut at multiples of this, so that aligned puts stay aligned


def share(nbytes: int) -> tuple[int, int]:
    """(first byte, bytes) of this block's share of ``nbytes``."""
    each = (nbytes + blocks() - 1) // blocks()
    each = (each + SHARE_BYTES - 1) // SHARE_BYTES * SHARE_BYTES
    low = min(block() * each, nbytes)
    return low, min(each, nbytes - low)


def put_bytes(ctx: int, message: Message):
    """dst (nbytes,) on the peer = src (nbytes,) of this PE."""
    low, nbytes = share(message.nbytes)
    put(ctx, message.dst + low, message.src + low, nbytes, message.peer)
    fence(ctx)  # what comes next in the stream may overwrite src


def get_bytes(ctx: int, message: Message):
    """dst (nbytes,) of this PE = src (nbytes,) on the peer."""
    low, nbytes = share(message.nbytes)
    get(ctx, message.dst + low, message.src + low, nbytes, message.peer)


def put_bytes_signal(ctx: int, message: Message, signal_word: int, value: int, counter: int):
    """``put_bytes``, then signal_word = value on the peer.  counter: an int32 word of this PE, 0 between launches."""
    if blocks() == 1:
        put_signal(ctx, message.dst, message.src, message.nbytes, signal_word, value, message.peer)
        fence(ctx)
    else:
        low, nbytes = share(message.nbytes)
        put(ctx, message.dst + low, message.src + low, nbytes, message.peer)
        fence(ctx)
        if arrive_last(counter):
            signal(ctx, signal_word, value, message.peer)


def wait_signal(ctx: int, signal_word: int, value: int, source: int):
    """Return once the local word is at least ``value``."""
    wait(ctx, signal_word, value, source)


def barrier(pe: PE, signals: int, epochs: int):
    """Every PE signals to every other that it is in the barrier.  signals (2, n_pes) words, epochs (1,)."""
    epoch = read_epoch(epochs, 0) + 1
    arrived = word(signals, (epoch & 1) * pe.n_pes)  # all PEs' words of epoch e+1 prove that all have taken those of e
    signal_all(pe.ctx, arrived, epoch, pe.me, pe.n_pes)
    wait_all(pe.ctx, arrived, epoch, pe.me, pe.n_pes)
    write_epoch(epochs, 0, epoch)
