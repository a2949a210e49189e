"""Taking what PEs of other nodes send: whichever thread looks, the one that waits in a kernel or the receiving thread.

A thread that looks holds LOCK.
"""

from ..compile import context as ctx_words
from .intrinsics import call_7, copy_bytes, load_acquire, load_word, nap, store_release, store_word, take
from .remote import (
    ANY_SOURCE,
    ASKED,
    ASKED_AT,
    ASKED_BY,
    ASKED_DST,
    ASKED_FIRST,
    ASKED_NBYTES,
    ASKED_NEXT,
    ASKED_VALUE,
    ASKED_WORDS,
    CHANNELS,
    DATA,
    DATA_BYTES,
    DST,
    DUE_FROM,
    FAILED,
    HEAD_BYTES,
    HELD,
    IN,
    IN_REQUESTS,
    IN_STATUS,
    KIND,
    LARGE,
    LARGE_AT,
    LARGE_FROM,
    LARGE_LEFT,
    LARGE_REQUEST,
    LARGE_SIGNAL,
    LARGE_TAG,
    LARGE_VALUE,
    LOCK,
    MOST_ASKED,
    MOST_BYTES,
    N_CHANNELS,
    N_HELD,
    N_PES,
    N_SLOTS,
    NBYTES,
    NUMBER,
    POLLS,
    PROCESS,
    REPLIES,
    REPLY_NEXT,
    REPLY_REQUESTS,
    REQUEST_BYTES,
    SIGNAL,
    SLOT_BYTES,
    STATUS,
    STOP,
    STREAM,
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

SHORT_NAPS, MORE_NAPS = 40, 200  # looks of the receiving thread in vain before it sleeps longer


@function
def post_slot(channel, k):
    """Begin to receive into slot k."""
    request = load_word(channel + 8 * IN_REQUESTS) + k * load_word(channel + 8 * REQUEST_BYTES)
    post(channel, False, slot(channel, k), SLOT_BYTES, load_word(channel + 8 * ANY_SOURCE), TAG, request)


@function
def slot(channel, k):
    """Address of slot k, and of its header."""
    return load_word(channel + 8 * IN) + k * SLOT_BYTES


@function
def arrived(channel):
    """A slot in which a message has arrived, -1 if there is none."""
    process, index = load_word(channel + 8 * PROCESS), load_word(channel + 8 * STATUS) + IN_STATUS
    flag, requests = index + 8, load_word(channel + 8 * IN_REQUESTS)
    store_word(flag, 0)
    failed = call_7(load_word(process + 8 * TESTANY), N_SLOTS, requests, index, flag, flag + 8, 0, 0)
    if failed != 0:
        store_word(channel + 8 * FAILED, failed)
        return -1
    k = load_word(index) & 0xFFFFFFFF
    return k if load_word(flag) & 0xFFFFFFFF != 0 and k < N_SLOTS else -1


@function
def due(channel, k):
    """Whether the message in slot k is the next of its sender and stream."""
    return load_word(slot(channel, k) + NUMBER) == load_word(due_word(channel, k))


@function
def due_word(channel, k):
    """Address of the number of the next message of the sender and stream of slot k."""
    return load_word(channel + 8 * DUE_FROM) + 8 * load_word(slot(channel, k) + STREAM)


@function
def next_slot(channel):
    """The slot of a message whose turn it is, -1 if there is none.

    MPI may fill slots in another order than they were posted: MPICH was seen to, with several PEs on a node.
    """
    held = load_word(channel + 8 * HELD)
    if load_word(channel + 8 * N_HELD) > 0:
        for k in range(N_SLOTS):
            if load_word(held + 8 * k) != 0 and due(channel, k):
                store_word(held + 8 * k, 0)
                store_word(channel + 8 * N_HELD, load_word(channel + 8 * N_HELD) - 1)
                return k
    while True:
        k = arrived(channel)
        if k < 0 or due(channel, k):
            return k
        store_word(held + 8 * k, 1)
        store_word(channel + 8 * N_HELD, load_word(channel + 8 * N_HELD) + 1)


@function
def post_large(channel):
    """Begin to receive the next part of a large put in its place."""
    part, source = min(load_word(channel + 8 * LARGE_LEFT), MOST_BYTES), load_word(channel + 8 * LARGE_FROM)
    post(channel, False, load_word(channel + 8 * LARGE_AT), part, source, LARGE_TAG, channel + 8 * LARGE_REQUEST)


@function
def end_large(channel):
    """A part has arrived: go on with the next one, or set the signal."""
    part = min(load_word(channel + 8 * LARGE_LEFT), MOST_BYTES)
    left = load_word(channel + 8 * LARGE_LEFT) - part
    store_word(channel + 8 * LARGE_LEFT, left)
    store_word(channel + 8 * LARGE_AT, load_word(channel + 8 * LARGE_AT) + part)
    if left > 0:
        post_large(channel)
    elif load_word(channel + 8 * LARGE_SIGNAL) != 0:
        store_release(load_word(channel + 8 * LARGE_SIGNAL), load_word(channel + 8 * LARGE_VALUE))


@function
def ask(channel, at, nbytes, dst, value, pe):
    """Keep a get of a peer until there is a slot to answer from."""
    following = load_word(channel + 8 * ASKED_NEXT)
    most = load_word(channel + 8 * MOST_ASKED)
    if following - load_word(channel + 8 * ASKED_FIRST) == most:
        return  # gets that have been given up
    entry = load_word(channel + 8 * ASKED) + following % most * (8 * ASKED_WORDS)
    store_word(entry + ASKED_AT, at)
    store_word(entry + ASKED_NBYTES, nbytes)
    store_word(entry + ASKED_DST, dst)
    store_word(entry + ASKED_VALUE, value)
    store_word(entry + ASKED_BY, pe)
    store_word(channel + 8 * ASKED_NEXT, following + 1)


@function
def handle(channel, head):
    """Do what a message says."""
    kind, dst, nbytes = load_word(head + KIND), load_word(head + DST), load_word(head + NBYTES)
    signal, value, sender = (
        load_word(head + SIGNAL),
        load_word(head + VALUE),
        load_word(head + STREAM) % load_word(channel + 8 * N_PES),
    )
    if kind == DATA:
        if nbytes > 0:
            copy_bytes(dst, head + HEAD_BYTES, nbytes)
        if signal != 0:
            store_release(signal, value)
    elif kind == LARGE:
        store_word(channel + 8 * LARGE_LEFT, nbytes)
        store_word(channel + 8 * LARGE_AT, dst)
        store_word(channel + 8 * LARGE_FROM, sender)
        store_word(channel + 8 * LARGE_SIGNAL, signal)
        store_word(channel + 8 * LARGE_VALUE, value)
        post_large(channel)
    else:
        ask(channel, dst, nbytes, signal, value, sender)


@function
def receive(channel):
    """Take the messages that have arrived.  Returns how many."""
    taken = 0
    while taken < N_SLOTS:
        if load_word(channel + 8 * LARGE_LEFT) > 0:
            if not test(channel, channel + 8 * LARGE_REQUEST, IN_STATUS):
                break
            end_large(channel)
        else:
            k = next_slot(channel)
            if k < 0:
                break
            word = due_word(channel, k)
            store_word(word, load_word(word) + 1)
            handle(channel, slot(channel, k))
            post_slot(channel, k)
        taken += 1
    return taken


@function
def answer(channel):
    """Send what peers have asked for, as far as slots are free."""
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
        write_head(channel, head, DATA, dst, part, word, load_word(entry + ASKED_VALUE), pe, 1)
        copy_bytes(head + HEAD_BYTES, at, part)
        store_word(entry + ASKED_AT, at + part)
        store_word(entry + ASKED_NBYTES, left - part)
        store_word(entry + ASKED_DST, dst + part)
        post(channel, True, head, HEAD_BYTES + part, pe, TAG, request)
        store_word(channel + 8 * REPLY_NEXT, load_word(channel + 8 * REPLY_NEXT) + 1)
        if last:
            store_word(channel + 8 * ASKED_FIRST, first + 1)


@function
def look(process):
    """Take what has arrived on any channel, unless another thread does.  Returns how many messages."""
    taken = 0
    if take(process + 8 * LOCK):
        for k in range(load_word(process + 8 * N_CHANNELS)):
            channel = load_word(process + 8 * (CHANNELS + k))
            taken += receive(channel)
            answer(channel)
        store_release(process + 8 * LOCK, 0)
    return taken


def progress(ctx):
    """What a wait does between two polls of its signal."""
    process = load_word(load_word(ctx + 8 * ctx_words.NETWORK) + 8 * PROCESS)
    store_word(process + 8 * POLLS, load_word(process + 8 * POLLS) + 1)
    look(process)


def serve(process):
    """The receiving thread: it sleeps while a kernel waits, which looks by itself, and long while nothing comes."""
    polls = in_vain = 0
    while load_acquire(process + 8 * STOP) == 0:
        if load_word(process + 8 * POLLS) != polls:
            polls = load_word(process + 8 * POLLS)
            nap(1000)
            continue
        in_vain = 0 if look(process) > 0 else in_vain + 1
        if in_vain > MORE_NAPS:
            nap(1000)
        elif in_vain > SHORT_NAPS:
            nap(200)
        elif in_vain > 0:
            nap(1)


def begin(process, channel):
    """Begin to receive on a channel, into all slots in their order."""
    while not take(process + 8 * LOCK):
        nap(1)
    for k in range(N_SLOTS):
        post_slot(channel, k)
    n = load_word(process + 8 * N_CHANNELS)
    store_word(process + 8 * (CHANNELS + n), channel)
    store_word(process + 8 * N_CHANNELS, n + 1)
    store_release(process + 8 * LOCK, 0)


def end(process, channel):
    """From now on no thread looks at a channel."""
    while not take(process + 8 * LOCK):
        nap(1)
    n = load_word(process + 8 * N_CHANNELS) - 1
    for k in range(n):
        if load_word(process + 8 * (CHANNELS + k)) == channel:
            store_word(process + 8 * (CHANNELS + k), load_word(process + 8 * (CHANNELS + n)))
    store_word(process + 8 * N_CHANNELS, n)
    store_release(process + 8 * LOCK, 0)
