"""Receives messages from PEs of other nodes, in a thread that waits in a kernel, else in the receiving thread.

A thread holds LOCK while it receives.
"""

from ...compile import context as ctx_words
from . import remote as r
from .intrinsics import call, copy_bytes, load_acquire, load_word, nap, store_release, store_word, take
from .numba_cpu import device_function
from .remote import post, test

SHORT_NAPS, MORE_NAPS = 40, 200  # number of looks without a message after which the receiving thread sleeps longer
MOST_TAKEN = 64  # most messages of a look


@device_function
def slot(channel, k):
    """Address of slot k, where its header begins."""
    return load_word(channel + 8 * r.IN) + k * r.SLOT_BYTES


@device_function
def source(channel, k):
    """The PE of slot k.  (MPI_ANY_SOURCE would need fewer receives, but MPICH then loses the order.)"""
    return load_word(load_word(channel + 8 * r.SOURCES) + 8 * k)


@device_function
def post_next(channel, k):
    """Begin to receive the next message of a PE, or the next part of its large put at the destination.  After LAST, do
    nothing."""
    head = slot(channel, k)
    request = load_word(channel + 8 * r.IN_REQUESTS) + k * load_word(channel + 8 * r.REQUEST_BYTES)
    if load_word(head + r.KIND) == r.PARTS:
        part = min(load_word(head + r.NBYTES), r.MOST_BYTES)
        post(channel, False, load_word(head + r.DST), part, source(channel, k), r.LARGE_TAG, request)
    elif load_word(head + r.KIND) != r.ENDED:
        post(channel, False, head, r.SLOT_BYTES, source(channel, k), r.TAG, request)


@device_function
def arrived(channel):
    """Index of a slot in which a message has arrived, or -1."""
    process, index = load_word(channel + 8 * r.PROCESS), load_word(channel + 8 * r.STATUS) + r.IN_STATUS
    flag, requests, n = index + 8, load_word(channel + 8 * r.IN_REQUESTS), load_word(channel + 8 * r.N_SOURCES)
    store_word(flag, 0)
    failed = call(load_word(process + 8 * r.TESTANY), n, requests, index, flag, flag + 8, 0, 0)
    if failed != 0:
        store_word(channel + 8 * r.FAILED, failed)
        return -1
    k = load_word(index) & 0xFFFFFFFF
    return k if load_word(flag) & 0xFFFFFFFF != 0 and k < n else -1


@device_function
def take_message(channel, k):
    """Handle the message in slot k: data, the head of a large put, a part of a large put, a get, or the last message."""
    head = slot(channel, k)
    kind, dst, nbytes = load_word(head + r.KIND), load_word(head + r.DST), load_word(head + r.NBYTES)
    if kind == r.GET:
        request = load_word(channel + 8 * r.ANSWERS) + k * load_word(channel + 8 * r.REQUEST_BYTES)
        test(channel, request, r.IN_STATUS)  # the previous answer has ended, as a PE waits for each of its gets
        post(channel, True, dst, nbytes, source(channel, k), r.GET_TAG, request)
        return
    if kind == r.LARGE:
        store_word(head + r.KIND, r.PARTS)
        return
    if kind == r.LAST:
        store_word(head + r.KIND, r.ENDED)
        return
    if kind == r.DATA and nbytes > 0:
        copy_bytes(dst, head + r.HEAD_BYTES, nbytes)
    if kind == r.PARTS and nbytes > r.MOST_BYTES:
        store_word(head + r.DST, dst + r.MOST_BYTES)
        store_word(head + r.NBYTES, nbytes - r.MOST_BYTES)
        return
    store_word(head + r.KIND, r.DATA)
    if load_word(head + r.SIGNAL) != 0:
        store_release(load_word(head + r.SIGNAL), load_word(head + r.VALUE))


@device_function
def receive(channel, most):
    """Handle at most ``most`` messages that have arrived.  Returns their number."""
    for taken in range(most):
        k = arrived(channel)
        if k < 0:
            return taken
        take_message(channel, k)
        post_next(channel, k)
    return most


@device_function
def look(process, most):
    """Receive at most ``most`` messages of each channel, unless another thread receives.  Returns their number."""
    taken = 0
    if take(process + 8 * r.LOCK):
        for k in range(load_word(process + 8 * r.N_CHANNELS)):
            taken += receive(load_word(process + 8 * (r.CHANNELS + k)), most)
        store_release(process + 8 * r.LOCK, 0)
    return taken


def progress(ctx):
    """Receive one message, between two polls of a signal that it may set.  Returns the number of messages."""
    process = load_word(load_word(ctx + 8 * ctx_words.NETWORK) + 8 * r.PROCESS)
    store_word(process + 8 * r.POLLS, load_word(process + 8 * r.POLLS) + 1)
    return look(process, 1)


def serve(process):
    """The receiving thread.  It sleeps while a kernel waits, since that kernel receives, and while no messages arrive."""
    polls = empty_looks = 0
    while load_acquire(process + 8 * r.STOP) == 0:
        if load_word(process + 8 * r.POLLS) != polls:
            polls = load_word(process + 8 * r.POLLS)
            nap(1000)
            continue
        empty_looks = 0 if look(process, MOST_TAKEN) > 0 else empty_looks + 1
        if empty_looks > MORE_NAPS:
            nap(1000)
        elif empty_looks > SHORT_NAPS:
            nap(200)
        elif empty_looks > 0:
            nap(1)


def begin(process, channel):
    """Begin to receive on a channel."""
    while not take(process + 8 * r.LOCK):
        nap(1)
    for k in range(load_word(channel + 8 * r.N_SOURCES)):
        post_next(channel, k)
    n = load_word(process + 8 * r.N_CHANNELS)
    store_word(process + 8 * (r.CHANNELS + n), channel)
    store_word(process + 8 * r.N_CHANNELS, n + 1)
    store_release(process + 8 * r.LOCK, 0)


def end(process, channel):
    """End a channel: no thread receives on it when this returns."""
    while not take(process + 8 * r.LOCK):
        nap(1)
    n = load_word(process + 8 * r.N_CHANNELS) - 1
    for k in range(n):
        if load_word(process + 8 * (r.CHANNELS + k)) == channel:
            store_word(process + 8 * (r.CHANNELS + k), load_word(process + 8 * (r.CHANNELS + n)))
    store_word(process + 8 * r.N_CHANNELS, n)
    store_release(process + 8 * r.LOCK, 0)
