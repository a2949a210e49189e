"""Receives messages from PEs of other nodes: in a thread that waits in a kernel, else in the receiving thread.

A thread holds LOCK while it receives.
"""

from ..compile import context as ctx_words
from . import remote as r
from .intrinsics import call_7, copy_bytes, load_acquire, load_word, nap, store_release, store_word, take
from .remote import function, head_of, post, request_of, test, write_head

SHORT_NAPS, MORE_NAPS = 40, 200  # looks without a message, after which the receiving thread sleeps longer
MOST_TAKEN = 64  # messages at a look


@function
def slot(channel, k):
    """Address of slot k, and of its header."""
    return load_word(channel + 8 * r.IN) + k * r.SLOT_BYTES


@function
def large(channel, k):
    """Address of the words of a large put into slot k."""
    return load_word(channel + 8 * r.LARGES) + 8 * r.LARGE_WORDS * k


@function
def post_receive(channel, k, buffer, nbytes, tag):
    """Begin to receive from the PE of slot k.  With MPI_ANY_SOURCE, which needs fewer receives, MPICH loses the order."""
    source = load_word(load_word(channel + 8 * r.SOURCES) + 8 * k)
    request = load_word(channel + 8 * r.IN_REQUESTS) + k * load_word(channel + 8 * r.REQUEST_BYTES)
    post(channel, False, buffer, nbytes, source, tag, request)


@function
def post_next(channel, k):
    """Begin to receive the next message, or the next part of a large put, at its destination."""
    put = large(channel, k)
    if load_word(put + r.LEFT) > 0:
        post_receive(channel, k, load_word(put + r.AT), min(load_word(put + r.LEFT), r.MOST_BYTES), r.LARGE_TAG)
    else:
        post_receive(channel, k, slot(channel, k), r.SLOT_BYTES, r.TAG)


@function
def arrived(channel):
    """A slot in which something has arrived, -1 if there is none."""
    process, index = load_word(channel + 8 * r.PROCESS), load_word(channel + 8 * r.STATUS) + r.IN_STATUS
    flag, requests, n = index + 8, load_word(channel + 8 * r.IN_REQUESTS), load_word(channel + 8 * r.N_SOURCES)
    store_word(flag, 0)
    failed = call_7(load_word(process + 8 * r.TESTANY), n, requests, index, flag, flag + 8, 0, 0)
    if failed != 0:
        store_word(channel + 8 * r.FAILED, failed)
        return -1
    k = load_word(index) & 0xFFFFFFFF
    return k if load_word(flag) & 0xFFFFFFFF != 0 and k < n else -1


@function
def ask(channel, at, nbytes, dst, value, pe):
    """Keep a peer's get until a slot is free to answer from."""
    following = load_word(channel + 8 * r.ASKED_NEXT)
    most = load_word(channel + 8 * r.MOST_ASKED)
    if following - load_word(channel + 8 * r.ASKED_FIRST) == most:
        return  # only if PEs have given up their gets
    entry = load_word(channel + 8 * r.ASKED) + following % most * (8 * r.ASKED_WORDS)
    store_word(entry + r.ASKED_AT, at)
    store_word(entry + r.ASKED_NBYTES, nbytes)
    store_word(entry + r.ASKED_DST, dst)
    store_word(entry + r.ASKED_VALUE, value)
    store_word(entry + r.ASKED_BY, pe)
    store_word(channel + 8 * r.ASKED_NEXT, following + 1)


@function
def take_message(channel, k):
    """Handle the message in slot k: data, the head of a large put, or a get."""
    head, put = slot(channel, k), large(channel, k)
    kind, dst, nbytes = load_word(head + r.KIND), load_word(head + r.DST), load_word(head + r.NBYTES)
    signal, value = load_word(head + r.SIGNAL), load_word(head + r.VALUE)
    if kind == r.DATA:
        if nbytes > 0:
            copy_bytes(dst, head + r.HEAD_BYTES, nbytes)
        if signal != 0:
            store_release(signal, value)
    elif kind == r.LARGE:
        store_word(put + r.LEFT, nbytes)
        store_word(put + r.AT, dst)
        store_word(put + r.LAST_SIGNAL, signal)
        store_word(put + r.LAST_VALUE, value)
    else:
        ask(channel, dst, nbytes, signal, value, load_word(load_word(channel + 8 * r.SOURCES) + 8 * k))


@function
def take_part(put):
    """Count a part of a large put that has arrived; after the last part set the signal."""
    part = min(load_word(put + r.LEFT), r.MOST_BYTES)
    store_word(put + r.LEFT, load_word(put + r.LEFT) - part)
    store_word(put + r.AT, load_word(put + r.AT) + part)
    if load_word(put + r.LEFT) == 0 and load_word(put + r.LAST_SIGNAL) != 0:
        store_release(load_word(put + r.LAST_SIGNAL), load_word(put + r.LAST_VALUE))


@function
def receive(channel, most):
    """Take what has arrived.  Returns how many messages, at most ``most``."""
    for taken in range(most):
        k = arrived(channel)
        if k < 0:
            return taken
        if load_word(large(channel, k) + r.LEFT) > 0:
            take_part(large(channel, k))
        else:
            take_message(channel, k)
        post_next(channel, k)
    return most


@function
def answer(channel):
    """Answer the gets of peers while slots are free."""
    while load_word(channel + 8 * r.ASKED_FIRST) < load_word(channel + 8 * r.ASKED_NEXT):
        request = request_of(channel, r.REPLY_REQUESTS, r.REPLY_NEXT)
        if not test(channel, request, r.IN_STATUS):
            return
        first = load_word(channel + 8 * r.ASKED_FIRST)
        entry = load_word(channel + 8 * r.ASKED) + first % load_word(channel + 8 * r.MOST_ASKED) * (8 * r.ASKED_WORDS)
        at, left, dst = load_word(entry + r.ASKED_AT), load_word(entry + r.ASKED_NBYTES), load_word(entry + r.ASKED_DST)
        head, part, pe = (
            head_of(channel, r.REPLIES, r.REPLY_NEXT),
            min(left, r.DATA_BYTES),
            load_word(entry + r.ASKED_BY),
        )
        last = part == left
        word = load_word(load_word(channel + 8 * r.THEIR_GOT) + 8 * pe) if last else 0
        write_head(head, r.DATA, dst, part, word, load_word(entry + r.ASKED_VALUE))
        copy_bytes(head + r.HEAD_BYTES, at, part)
        store_word(entry + r.ASKED_AT, at + part)
        store_word(entry + r.ASKED_NBYTES, left - part)
        store_word(entry + r.ASKED_DST, dst + part)
        post(channel, True, head, r.HEAD_BYTES + part, pe, r.TAG, request)
        store_word(channel + 8 * r.REPLY_NEXT, load_word(channel + 8 * r.REPLY_NEXT) + 1)
        if last:
            store_word(channel + 8 * r.ASKED_FIRST, first + 1)


@function
def look(process, most):
    """Receive at most ``most`` messages of each channel, unless another thread does it.  Returns their number."""
    taken = 0
    if take(process + 8 * r.LOCK):
        for k in range(load_word(process + 8 * r.N_CHANNELS)):
            channel = load_word(process + 8 * (r.CHANNELS + k))
            taken += receive(channel, most)
            answer(channel)
        store_release(process + 8 * r.LOCK, 0)
    return taken


def progress(ctx):
    """Receive one message, between two polls of a signal that it may set.  Returns the number of messages."""
    process = load_word(load_word(ctx + 8 * ctx_words.NETWORK) + 8 * r.PROCESS)
    store_word(process + 8 * r.POLLS, load_word(process + 8 * r.POLLS) + 1)
    return look(process, 1)


def serve(process):
    """The receiving thread.  It sleeps while a kernel waits, which receives by itself, and longer while nothing comes."""
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
    """End a channel: afterwards no thread receives on it."""
    while not take(process + 8 * r.LOCK):
        nap(1)
    n = load_word(process + 8 * r.N_CHANNELS) - 1
    for k in range(n):
        if load_word(process + 8 * (r.CHANNELS + k)) == channel:
            store_word(process + 8 * (r.CHANNELS + k), load_word(process + 8 * (r.CHANNELS + n)))
    store_word(process + 8 * r.N_CHANNELS, n)
    store_release(process + 8 * r.LOCK, 0)
