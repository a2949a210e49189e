"""Taking what PEs of other nodes send: whichever thread looks, the one that waits in a kernel or the receiving thread.

A thread that looks holds LOCK.  Messages are taken in the order in which their slots were posted.
"""

from ..compile import context as ctx_words
from .intrinsics import copy_bytes, load_acquire, load_word, nap, store_release, store_word, take
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
    HEAD_BYTES,
    IN,
    IN_NEXT,
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
    N_SLOTS,
    NBYTES,
    POLLS,
    PROCESS,
    REPLIES,
    REPLY_NEXT,
    REPLY_REQUESTS,
    SENDER,
    SIGNAL,
    SLOT_BYTES,
    STOP,
    TAG,
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
def post_slot(channel):
    """Begin to receive into the next slot, the oldest one."""
    head, request = head_of(channel, IN, IN_NEXT), request_of(channel, IN_REQUESTS, IN_NEXT)
    post(channel, False, head, SLOT_BYTES, load_word(channel + 8 * ANY_SOURCE), TAG, request)
    store_word(channel + 8 * IN_NEXT, load_word(channel + 8 * IN_NEXT) + 1)


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
    signal, value, sender = load_word(head + SIGNAL), load_word(head + VALUE), load_word(head + SENDER)
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
            if not test(channel, request_of(channel, IN_REQUESTS, IN_NEXT), IN_STATUS):
                break
            handle(channel, head_of(channel, IN, IN_NEXT))
            post_slot(channel)
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
        write_head(channel, head, DATA, dst, part, word, load_word(entry + ASKED_VALUE))
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
    for _ in range(N_SLOTS):
        post_slot(channel)
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
