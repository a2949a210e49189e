"""The data of packets in plain memory of a GPU: a thread's 16 bytes of a line, at any address."""

from ...kernels.packets import GROUP_DATA_BYTES, PACKET_DATA_BYTES
from .intrinsics import load_1, load_4, load_word, store_1, store_4, store_word
from .stubs import ALIGNED

LOW = 0xFFFFFFFF  # mask of 4 bytes


def padded(nbytes):
    """Number of 16-byte parts in the lines of ``nbytes``: whole warps, at least one."""
    return max(1, (nbytes + GROUP_DATA_BYTES - 1) // GROUP_DATA_BYTES) * 32


def word_at(src, offset, nbytes):
    """The 8 bytes at ``offset``; bytes after ``nbytes`` are 0."""
    if ALIGNED:
        return load_word(src + offset) if offset < nbytes else 0
    if offset + 8 <= nbytes and ((src + offset) & 7) == 0:
        return load_word(src + offset)
    word = 0
    for k in range(min(8, nbytes - offset)):
        word |= (load_1(src + offset + k) & 255) << (8 * k)
    return word


def halves(src):
    """The 8 bytes at an address that is a multiple of 4."""
    return (load_4(src) & LOW) | (load_4(src + 4) & LOW) << 32


def store_word_at(dst, offset, nbytes, word):
    """Write the bytes of ``word`` at ``offset`` that lie before ``nbytes``."""
    if ALIGNED:
        if offset < nbytes:
            store_word(dst + offset, word)
    elif offset + 8 <= nbytes and ((dst + offset) & 7) == 0:
        store_word(dst + offset, word)
    elif offset + 8 <= nbytes and ((dst + offset) & 3) == 0:
        store_4(dst + offset, word & LOW)
        store_4(dst + offset + 4, (word >> 32) & LOW)
    else:
        for k in range(min(8, nbytes - offset)):
            store_1(dst + offset + k, (word >> (8 * k)) & 255)


def data_offset(i):
    """Offset in the data of part ``i`` of the lines."""
    return (i >> 3) * PACKET_DATA_BYTES + (i & 7) * 16


def store_part(dst, i, nbytes, pair):
    """Store part ``i`` of the data in dst (nbytes,)."""
    offset = data_offset(i)
    store_word_at(dst, offset, nbytes, pair[0])
    if (i & 7) != 7:
        store_word_at(dst, offset + 8, nbytes, pair[1])


def own_pair(src, i, nbytes):
    """Part ``i`` of this PE's data (the last thread of a line reads 8 bytes more than it sends)."""
    offset = data_offset(i)
    part = src + offset
    if not ALIGNED and offset + 16 <= nbytes and (part & 3) == 0:
        if (part & 7) == 0:
            return (load_word(part), load_word(part + 8))
        return (halves(part), halves(part + 8))
    return (word_at(src, offset, nbytes), word_at(src, offset + 8, nbytes))
