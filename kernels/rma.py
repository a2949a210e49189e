"""One-sided operations in stream order: put, get, put_signal, wait_signal, barrier.

Every block puts its share of the bytes, as NVSHMEM's ``putmem_block`` does.  An operation costs one launch; a host
call of the copy engine takes several times as much host time.
"""

from .block import arrive_last, block, blocks, copy, lock, unlock
from .messages import fence, get, put, put_signal, read_epoch, signal, signal_all, wait, wait_all, write_epoch
from .records import PE, Message, StagingBuffers
from .slots import word

SHARE_BYTES = 16  # shares are multiples of this, so that aligned puts stay aligned


def share(nbytes: int) -> tuple[int, int]:
    """(first byte, number of bytes) of this block's share of ``nbytes``."""
    share_bytes = (nbytes + blocks() - 1) // blocks()
    share_bytes = (share_bytes + SHARE_BYTES - 1) // SHARE_BYTES * SHARE_BYTES
    low = min(block() * share_bytes, nbytes)
    return low, min(share_bytes, nbytes - low)


def put_bytes(ctx: int, message: Message):
    """dst (nbytes,) on the peer = src (nbytes,) of this PE."""
    low, nbytes = share(message.nbytes)
    put(ctx, message.dst + low, message.src + low, nbytes, message.peer)
    fence(ctx)  # the next work of the stream may overwrite src


def get_bytes(ctx: int, message: Message):
    """dst (nbytes,) of this PE = src (nbytes,) on the peer."""
    low, nbytes = share(message.nbytes)
    get(ctx, message.dst + low, message.src + low, nbytes, message.peer)


def put_bytes_signal(ctx: int, message: Message, signal_word: int, value: int, counter: int):
    """``put_bytes``, then signal_word = value on the peer.  counter: address of an int32 word, 0 between launches"""
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
    """Wait until the local word is at least ``value``."""
    wait(ctx, signal_word, value, source)


def barrier(pe: PE, signals: int, epochs: int):
    """Every PE signals to every other PE that it is in the barrier.  signals: (2, n_pes) words;  epochs: (1,) word"""
    epoch = read_epoch(epochs, 0) + 1
    arrived = word(signals, (epoch & 1) * pe.n_pes)  # all PEs have read epoch e when all signal e+1
    signal_all(pe.ctx, arrived, epoch, pe.me, pe.n_pes)
    wait_all(pe.ctx, arrived, epoch, pe.me, pe.n_pes)
    write_epoch(epochs, 0, epoch)


# NVSHMEM puts from, and gets into, symmetric and registered memory only.  So if no pointer reaches the peer, the bytes of
# another array go through staging buffers of the workspace, piece by piece.  A launch has at most one block for each
# staging buffer.


def put_by_staging(ctx: int, message: Message, by: StagingBuffers, signal_word: int, value: int):
    """dst (nbytes,) on the peer = src (nbytes,) of this PE, then signal_word = value there, unless the word is 0."""
    low, nbytes = share(message.nbytes)
    staging, lock_word = by.staging + block() * by.room_bytes, word(by.locks, block())
    lock(lock_word)
    for start in range(low, low + nbytes, by.room_bytes):
        piece_bytes = min(by.room_bytes, low + nbytes - start)
        copy(staging, message.src + start, piece_bytes)
        put(ctx, message.dst + start, staging, piece_bytes, message.peer)
        fence(ctx)  # the staging buffer is free again
    unlock(lock_word)
    if signal_word != 0:
        if arrive_last(by.counter):
            signal(ctx, signal_word, value, message.peer)


def get_by_staging(ctx: int, message: Message, by: StagingBuffers):
    """dst (nbytes,) of this PE = src (nbytes,) on the peer."""
    low, nbytes = share(message.nbytes)
    staging, lock_word = by.staging + block() * by.room_bytes, word(by.locks, block())
    lock(lock_word)
    for start in range(low, low + nbytes, by.room_bytes):
        piece_bytes = min(by.room_bytes, low + nbytes - start)
        get(ctx, staging, message.src + start, piece_bytes, message.peer)
        copy(message.dst + start, staging, piece_bytes)
    unlock(lock_word)
