"""One-sided operations between a peer beyond a pointer and an array that NVSHMEM does not know, such as a plain one.

NVSHMEM puts from, and gets into, symmetric and registered memory only.  So the bytes go through staging buffers
of the workspace, piece by piece.  A launch has at most as many blocks as there are staging buffers.
"""

from ..block import arrive_last, block, copy, fence, get, lock, put, signal, unlock
from ..records import Message, StagingBuffers
from ..slots import word
from .on_stream import share


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
