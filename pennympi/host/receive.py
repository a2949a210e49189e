"""Receives messages from PEs of other nodes: in a thread that waits in a kernel, else in the receiving thread.

A thread holds LOCK while it receives.
"""

from ..compile import context as ctx_words
from .intrinsics import call_7, copy_bytes, load_acquire, load_word, nap, store_release, store_word, take
from .remote import (
    ASKED,
    ASKED_AT,
    ASKED_BY,
    ASKED_DST,
    ASKED_FIRST,
    ASKED_NBYTES,
    ASKED_NEXT,
    ASKED_VALUE,
    ASKED_WORDS,
    AT,
    CHANNELS,
    DATA,
    DATA_BYTES,
    DST,
    FAILED,
    HEAD_BYTES,
    IN,
    IN_REQUESTS,
    IN_STATUS,
    KIND,
    LARGE,
    LARGE_TAG,
    LARGE_WORDS,
    LARGES,
    LAST_SIGNAL,
    LAST_VALUE,
    LEFT,
    LOCK,
    MOST_ASKED,
    MOST_BYTES,
    N_CHANNELS,
    N_SOURCES,
    NBYTES,
    POLLS,
    PROCESS,
    REPLIES,
    REPLY_NEXT,
    REPLY_REQUESTS,
    REQUEST_BYTES,
    SIGNAL,
    SLOT_BYTES,
    SOURCES,
    STATUS,
    STOP,
    TAG,
    TESTANY,
    THEIR_GOT,
    VALUE,
    function,
    head_of,
    post,
    request_of,
    test,
    write_head,
)

SHORT_NAPS, MORE_NAPS = 40, 200  # looks without a message, after which the receiving thread sleeps longer
MOST_TAKEN = 64  # messages at a look


@function
def slot(channel, k):
    """Address of slot k, and of its header."""
    return load_word(channel + 8 * IN) + k * SLOT_BYTES


@function
def large(channel, k):
    """Address of the words of a large put into slot k."""
    return load_word(channel + 8 * LARGES) + 8 * LARGE_WORDS * k


@function
def post_receive(channel, k, buffer, nbytes, tag):
    """Begin to receive from the PE of slot k.  With MPI_ANY_SOURCE, which needs fewer receives, MPICH loses the order."""
    source = load_word(load_word(channel + 8 * SOURCES) + 8 * k)
    request = load_word(channel + 8 * IN_REQUESTS) + k * load_word(channel + 8 * REQUEST_BYTES)
    post(channel, False, buffer, nbytes, source, tag, request)


@function
def post_next(channel, k):
    """Begin to receive the next message, or the next part of a large put, at its destination."""
    put = large(channel, k)
    if load_word(put + LEFT) > 0:
        post_receive(channel, k, load_word(put + AT), min(load_word(put + LEFT), MOST_BYTES), LARGE_TAG)
    else:
        post_receive(channel, k, slot(channel, k), SLOT_BYTES, TAG)


@function
def arrived(channel):
    """A slot in which something has arrived, -1 if there is none."""
    process, index = load_word(channel + 8 * PROCESS), load_word(channel + 8 * STATUS) + IN_STATUS
    flag, requests, n = index + 8, load_word(channel + 8 * IN_REQUESTS), load_word(channel + 8 * N_SOURCES)
    store_word(flag, 0)
    failed = call_7(load_word(process + 8 * TESTANY), n, requests, index, flag, flag + 8, 0, 0)
    if failed != 0:
        store_word(channel + 8 * FAILED, failed)
        return -1
    k = load_word(index) & 0xFFFFFFFF
    return k if load_word(flag) & 0xFFFFFFFF != 0 and k < n else -1


@function
def ask(channel, at, nbytes, dst, value, pe):
    """Keep a peer's get until a slot is free to answer from."""
    following = load_word(channel + 8 * ASKED_NEXT)
    most = load_word(channel + 8 * MOST_ASKED)
    if following - load_word(channel + 8 * ASKED_FIRST) == most:
        return  # only if PEs have given up their gets
    entry = load_word(channel + 8 * ASKED) + following % most * (8 * ASKED_WORDS)
    store_word(entry + ASKED_AT, at)
    store_word(entry + ASKED_NBYTES, nbytes)
    store_word(entry + ASKED_DST, dst)
    store_word(entry + ASKED_VALUE, value)
    store_word(entry + ASKED_BY, pe)
    store_word(channel + 8 * ASKED_NEXT, following + 1)


@function
def take_message(channel, k):
    """Handle the message in slot k: data, the head of a large put, or a get."""
    head, put = slot(channel, k), large(channel, k)
    kind, dst, nbytes = load_word(head + KIND), load_word(head + DST), load_word(head + NBYTES)
    signal, value = load_word(head + SIGNAL), load_word(head + VALUE)
    if kind == DATA:
        if nbytes > 0:
            copy_bytes(dst, head + HEAD_BYTES, nbytes)
        if signal != 0:
            store_release(signal, value)
    elif kind == LARGE:
        store_word(put + LEFT, nbytes)
        store_word(put + AT, dst)
        store_word(put + LAST_SIGNAL, signal)
        store_word(put + LAST_VALUE, value)
    else:
        ask(channel, dst, nbytes, signal, value, load_word(load_word(channel + 8 * SOURCES) + 8 * k))


@function
def take_part(put):
    """Count a part of a large put that has arrived; after the last part set the signal."""
    part = min(load_word(put + LEFT), MOST_BYTES)
    store_word(put + LEFT, load_word(put + LEFT) - part)
    store_word(put + AT, load_word(put + AT) + part)
    if load_word(put + LEFT) == 0 and load_word(put + LAST_SIGNAL) != 0:
        store_release(load_word(put + LAST_SIGNAL), load_word(put + LAST_VALUE))


@function
def receive(channel, most):
    """Take what has arrived.  Returns how many messages, at most ``most``."""
    for taken in range(most):
        k = arrived(channel)
        if k < 0:
            return taken
        if load_word(large(channel, k) + LEFT) > 0:
            take_part(large(channel, k))
        else:
            take_message(channel, k)
        post_next(channel, k)
    return most


@function
def answer(channel):
    """Answer the gets of peers while slots are free."""
    while load_word(channel + 8 * ASKED_FIRST) < load_word(channel + 8 * ASKED_NEXT):
        request = request_of(channel, REPLY_REQUESTS, REPLY_NEXT)
        if not test(channel, request, IN_STATUS):
            return
        first = load_word(channel + 8 * ASKED_FIRST)
        entry = load_word(channel + 8 * ASKED) + first % load_word(channel + 8 * MOST_ASKED) * (8 * ASKED_WORDS)
        at, left, dst = load_word(entry + ASKED_AT), load_word(entry + ASKED_NBYTES), load_word(entry + ASKED_DST)
        head, part, pe = head_of(channel, REPLIES, REPLY_NEXT), min(left, DATA_BYTES), load_word(entry + ASKED_BY)
        last = part == left
        word = load_word(load_word(channel + 8 * THEIR_GOT) + 8 * pe) if last else 0
        write_head(head, DATA, dst, part, word, load_word(entry + ASKED_VALUE))
        copy_bytes(head + HEAD_BYTES, at, part)
        store_word(entry + ASKED_AT, at + part)
        store_word(entry + ASKED_NBYTES, left - part)
        store_word(entry + ASKED_DST, dst + part)
        post(channel, True, head, HEAD_BYTES + part, pe, TAG, request)
        store_word(channel + 8 * REPLY_NEXT, load_word(channel + 8 * REPLY_NEXT) + 1)
        if last:
            store_word(channel + 8 * ASKED_FIRST, first + 1)


@function
def look(process, most):
    """Receive at most ``most`` messages of each channel, unless another thread does it.  Returns their number."""
    taken = 0
    if take(process + 8 * LOCK):
        for k in range(load_word(process + 8 * N_CHANNELS)):
            channel = load_word(process + 8 * (CHANNELS + k))
            taken += receive(channel, most)
            answer(channel)
        store_release(process + 8 * LOCK, 0)
    return taken


def progress(ctx):
    """Receive one message, between two polls of a signal that it may set.  Returns the number of messages."""
    process = load_word(load_word(ctx + 8 * ctx_words.NETWORK) + 8 * PROCESS)
    store_word(process + 8 * POLLS, load_word(process + 8 * POLLS) + 1)
    return look(process, 1)


def serve(process):
    """The receiving thread.  It sleeps while a kernel waits, which receives by itself, and longer while nothing comes."""
    polls = empty_looks = 0
    while load_acquire(process + 8 * STOP) == 0:
        if load_word(process + 8 * POLLS) != polls:
            polls = load_word(process + 8 * POLLS)
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
    while not take(process + 8 * LOCK):
        nap(1)
    for k in range(load_word(channel + 8 * N_SOURCES)):
        post_next(channel, k)
    n = load_word(process + 8 * N_CHANNELS)
    store_word(process + 8 * (CHANNELS + n), channel)
    store_word(process + 8 * N_CHANNELS, n + 1)
    store_release(process + 8 * LOCK, 0)


def end(process, channel):
    """End a channel: afterwards no thread receives on it."""
    while not take(process + 8 * LOCK):
        nap(1)
    n = load_word(process + 8 * N_CHANNELS) - 1
    for k in range(n):
        if load_word(process + 8 * (CHANNELS + k)) == channel:
            store_word(process + 8 * (CHANNELS + k), load_word(process + 8 * (CHANNELS + n)))
    store_word(process + 8 * N_CHANNELS, n)
    store_release(process + 8 * LOCK, 0)
