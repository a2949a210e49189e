"""Implementations of the primitives on a CPU: a block is one thread, and ``lanes`` is a loop over all indices."""

from collections.abc import Callable
from typing import Any

import numpy as np

from ...compile import context as ctx_words
from ...compile.context import UNREACHABLE
from ...kernels.records import Message
from .intrinsics import (
    call,
    copy_bytes,
    fused_multiply_add,
    load_word,
    read_block,
    read_blocks,
    store_release,
    store_word,
)
from .numba_cpu import device_function

IMPLEMENTATIONS: dict[str, Any] = {"block": read_block, "blocks": read_blocks, "lanes": range}


def implementation(function: Callable[..., Any]) -> Any:
    """Compile a function and register it as the implementation of the primitive with its name."""
    IMPLEMENTATIONS[function.__name__] = compiled = device_function(function)
    return compiled


@implementation
def single_thread():
    return True


@implementation
def is_leader():
    return True


@implementation
def sync():
    pass


@implementation
def block_sum(x):
    return x


@implementation
def product(x, y):
    return x * y


@implementation
def multiply_add(x, y, z):
    return fused_multiply_add(x, y, z)


@implementation
def bits(x):
    return np.float64(x).view(np.int64)


@implementation
def add_shared(base, index, value):
    store_word(base + 8 * index, load_word(base + 8 * index) + value)


@implementation
def add_block_sums(base, x):
    for k in range(len(x)):
        if x[k] == x[k]:
            add_shared(base, k, int(x[k]))
        elif k == 0:
            add_shared(base, len(x), 1)


@implementation
def arrive(counter):
    add_shared(counter, 0, 1)


@implementation
def wait_arrivals(counter, value):
    pass  # one block of this PE runs at a time, so all blocks with lower numbers have ended


@implementation
def arrive_last(counter):
    return read_block() == read_blocks() - 1


@implementation
def lock(word):
    pass  # one block of this PE runs at a time


@implementation
def unlock(word):
    pass


@implementation
def note_access(record, site, base, offset, nbytes):
    if load_word(record) == 0:
        store_word(record, 1)
        store_word(record + 8, site)
        store_word(record + 16, base)
        store_word(record + 24, offset)
        store_word(record + 32, nbytes)


@implementation
def copy(dst, src, nbytes):
    copy_bytes(dst, src, nbytes)


@implementation
def to_partials(ctx, dst, src, count):
    call(load_word(ctx + 8 * ctx_words.TO_PARTIALS), ctx, dst, 0, src, count)


@implementation
def reduce(ctx, dst, part, src, count):
    call(load_word(ctx + 8 * ctx_words.REDUCE), ctx, dst, part, src, count)


@implementation
def reduce_and_round(ctx, dst, part, src, count):
    call(load_word(ctx + 8 * ctx_words.REDUCE_AND_ROUND), ctx, dst, part, src, count)


@implementation
def reduce_partials(ctx, dst, left, right, count):
    call(load_word(ctx + 8 * ctx_words.REDUCE_PARTIALS), ctx, dst, left, right, count)


@implementation
def reduce_partials_and_round(ctx, dst, left, right, count):
    call(load_word(ctx + 8 * ctx_words.REDUCE_PARTIALS_AND_ROUND), ctx, dst, left, right, count)


@device_function
def peer_address(ctx, address, pe):
    """Address in this process of PE pe's instance of a symmetric address."""
    return address + load_word(ctx + 8 * (ctx_words.PEER_OFFSETS + pe))


@device_function
def remote(ctx, pe):
    """Whether no pointer reaches PE pe."""
    return load_word(ctx + 8 * (ctx_words.PEER_OFFSETS + pe)) == UNREACHABLE


@device_function
def send_message(ctx, message, signal, value):
    """Put to a PE of another node, then set its signal, unless ``signal`` is 0 (remote.py)."""
    dst, src, nbytes, pe = message
    call(load_word(ctx + 8 * ctx_words.SEND), ctx, dst, src, nbytes, signal, value, pe)


@implementation
def put(ctx, dst, src, nbytes, pe):
    if load_word(ctx + 8 * ctx_words.GAVE_UP) == 0:  # else a peer may still read the bytes at dst
        if remote(ctx, pe):
            send_message(ctx, Message(dst, src, nbytes, pe), 0, 0)
        else:
            copy_bytes(peer_address(ctx, dst, pe), src, nbytes)


@implementation
def stage_for_put(ctx, staging, src, nbytes, pe):
    return src  # a put has read its source when it returns


@implementation
def get(ctx, dst, src, nbytes, pe):
    if remote(ctx, pe):
        call(load_word(ctx + 8 * ctx_words.GET), ctx, dst, src, nbytes, 0, 0, pe)
    else:
        copy_bytes(dst, peer_address(ctx, src, pe), nbytes)


@device_function
def send(ctx, signal, value, pe):
    """Set a word of PE pe, poisoned if this PE has given up."""
    value |= load_word(ctx + 8 * ctx_words.GAVE_UP)
    if remote(ctx, pe):
        send_message(ctx, Message(0, 0, 0, pe), signal, value)
    else:
        store_release(peer_address(ctx, signal, pe), value)


@implementation
def put_signal(ctx, message, signal, value):
    dst, src, nbytes, pe = message
    if remote(ctx, pe) and load_word(ctx + 8 * ctx_words.GAVE_UP) == 0:
        send_message(ctx, message, signal, value)
    else:
        put(ctx, dst, src, nbytes, pe)
        send(ctx, signal, value, pe)


@implementation
def fence(ctx):
    pass  # a signal is a release store, or a message, and a PE's messages arrive in order


@implementation
def signal(ctx, signal, value, pe):
    send(ctx, signal, value, pe)


@implementation
def signal_all(ctx, signals, value, me, n_pes):
    for k in range(1, n_pes):
        send(ctx, signals + 8 * me, value, (me + k) % n_pes)


@implementation
def read_peer(peer_table, index):
    return load_word(peer_table + 8 * index)


@implementation
def read_epoch(epochs, index):
    return load_word(epochs + 8 * index)


@implementation
def write_epoch(epochs, index, epoch):
    store_word(epochs + 8 * index, epoch)
