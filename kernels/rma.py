"""One-sided operations in stream order: put, get, put_signal, wait_signal, barrier.

Block puts in the manner of NVSHMEM's ``putmem_block``: every block moves its
share of the bytes.  They cost one launch, where a host call of the copy engine
costs several times as much host time.
"""

from .block import arrive_last, block, blocks, copy, lock, unlock
from .messages import fence, get, put, put_signal, read_epoch, signal, signal_all, wait, wait_all, write_epoch
from .records import PE, Message, StagingBuffers
from .slots import word

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
        put_signal(ctx, message, signal_word, value)
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


# Between a peer beyond a pointer and an array that NVSHMEM does not know, such as a plain one: NVSHMEM puts from, and
# gets into, symmetric and registered memory only.  So the bytes go through staging buffers of the workspace, piece by
# piece.  A launch has at most as many blocks as there are staging buffers.


def put_by_staging(ctx: int, message: Message, by: StagingBuffers, signal_word: int, value: int):
    """dst (nbytes,) on the peer = src (nbytes,) of this PE, then signal_word = value there, unless the word is 0."""
    low, nbytes = share(message.nbytes)
    staging, own = by.staging + block() * by.room_bytes, word(by.locks, block())
    lock(own)
    for start in range(low, low + nbytes, by.room_bytes):
        piece_bytes = min(by.room_bytes, low + nbytes - start)
        copy(staging, message.src + start, piece_bytes)
        put(ctx, message.dst + start, staging, piece_bytes, message.peer)
        fence(ctx)  # the staging buffer is free again
    unlock(own)
    if signal_word != 0:
        if arrive_last(by.counter):
            signal(ctx, signal_word, value, message.peer)


def get_by_staging(ctx: int, message: Message, by: StagingBuffers):
    """dst (nbytes,) of this PE = src (nbytes,) on the peer."""
    low, nbytes = share(message.nbytes)
    staging, own = by.staging + block() * by.room_bytes, word(by.locks, block())
    lock(own)
    for start in range(low, low + nbytes, by.room_bytes):
        piece_bytes = min(by.room_bytes, low + nbytes - start)
        get(ctx, staging, message.src + start, piece_bytes, message.peer)
        copy(message.dst + start, staging, piece_bytes)
    unlock(own)
