"""One-sided operations in stream order: put, get, put_signal, wait_signal, barrier.

Block puts in the manner of NVSHMEM's ``putmem_block``: every block moves its
share of the bytes.  They cost one launch, where a host call of the copy engine
costs several times as much host time.
"""

from ..block import (
    arrive_last,
    block,
    blocks,
    fence,
    get,
    put,
    put_signal,
    read_epoch,
    signal,
    signal_all,
    wait,
    wait_all,
    write_epoch,
)

SHARE_BYTES = 16  # shares are cut at multiples of this, so that aligned puts stay aligned


def share(nbytes):
    """(first byte, bytes) of this block's share of ``nbytes``."""
    each = (nbytes + blocks() - 1) // blocks()
    each = (each + SHARE_BYTES - 1) // SHARE_BYTES * SHARE_BYTES
    low = min(block() * each, nbytes)
    return low, min(each, nbytes - low)


def put_bytes(ctx, dst, src, nbytes, pe):
    """dst (nbytes,) on ``pe`` = src (nbytes,) of this PE."""
    low, n = share(nbytes)
    put(ctx, dst + low, src + low, n, pe)
    fence(ctx)  # what comes next in the stream may overwrite src


def get_bytes(ctx, dst, src, nbytes, pe):
    """dst (nbytes,) of this PE = src (nbytes,) on ``pe``."""
    low, n = share(nbytes)
    get(ctx, dst + low, src + low, n, pe)


def put_bytes_signal(ctx, dst, src, nbytes, word, value, pe, counter):
    """``put_bytes``, then word = value on ``pe``.  counter: an int32 word of this PE."""
    if blocks() == 1:
        put_signal(ctx, dst, src, nbytes, word, value, pe)
        fence(ctx)
    else:
        low, n = share(nbytes)
        put(ctx, dst + low, src + low, n, pe)
        fence(ctx)
        if arrive_last(counter):
            signal(ctx, word, value, pe)


def wait_signal(ctx, word, value, source):
    """Return once the local word is at least ``value``."""
    wait(ctx, word, value, source)


def barrier(ctx, me, n_pes, signals, epochs):
    """Every PE tells every other that it is here.  signals (2 parities, n_pes) words, epochs (1,)."""
    epoch = read_epoch(epochs, 0) + 1
    signals += (epoch & 1) * n_pes * 8  # all PEs' words of epoch e+1 prove that all have taken those of e
    signal_all(ctx, signals, epoch, me, n_pes)
    wait_all(ctx, signals, epoch, me, n_pes)
    write_epoch(epochs, 0, epoch)
