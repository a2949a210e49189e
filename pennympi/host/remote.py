"""Puts, gets and signals between nodes on CPUs: compiled functions that call the program's own MPI by address.

A message is a header of 64 bytes with up to 64 KiB of data behind it; a larger put is a header, and then a second message
that MPI receives in its place.  MPI keeps the order of messages from one PE to another, so a signal comes after the puts
before it.  What arrives is taken by whichever thread looks: the one that waits in a kernel, or the receiving thread
(network.py) while the program computes.  Addresses in a header are those of the PE that receives it.
"""

import ctypes
from collections.abc import Callable
from functools import cache

import numba
from numba import types

from ..compile import context as ctx_words
from ..compile.cache import made_once
from .compile import Loaded, facts, load, packed
from .intrinsics import (
    call_3,
    call_7,
    copy_bytes,
    load_acquire,
    load_word,
    nap,
    store_release,
    store_word,
    take,
)
from .primitives import OPTIONS, give_up, pause

# Words of a process.  POLLS: how often its waits have looked;  CHANNELS: addresses of those of its teams
LOCK, STOP, POLLS, ISEND, IRECV, TEST, N_CHANNELS, CHANNELS = range(8)
# Words of a channel: MPI's handles, then rings of slots and the requests that use them.  OUT: of the kernels' thread;
# REPLIES: of the thread that holds LOCK;  ASKED: what peers have asked for
PROCESS, COMM, BYTE, ANY_SOURCE, ME, STATUS = range(6)
IN, IN_REQUESTS, IN_NEXT, OUT, OUT_REQUESTS, OUT_NEXT, REPLIES, REPLY_REQUESTS, REPLY_NEXT = range(6, 15)
ASKED, ASKED_FIRST, ASKED_NEXT, MOST_ASKED = range(15, 19)
# MOVED: what to add to an address for each PE;  GOT: the last get that has ended, and THEIR_GOT its address on each PE
MOVED, GETS, GOT, THEIR_GOT, FAILED = range(19, 24)
LARGE_LEFT, LARGE_AT, LARGE_FROM, LARGE_SIGNAL, LARGE_VALUE, LARGE_REQUEST, LARGE_OUT_REQUEST = range(24, 31)
CHANNEL_WORDS = 31

HEAD_BYTES, DATA_BYTES = 64, 65536
SLOT_BYTES, N_SLOTS = HEAD_BYTES + DATA_BYTES, 32
KIND, DST, NBYTES, SIGNAL, VALUE, SENDER = (8 * k for k in range(6))  # of a header; a GET's DST is what it reads
DATA, LARGE, GET = range(3)
ASKED_AT, ASKED_NBYTES, ASKED_DST, ASKED_VALUE, ASKED_BY = (8 * k for k in range(5))  # of a get
ASKED_WORDS = 5
TAG, LARGE_TAG = 32703, 32704  # beside those of job/rendezvous.py
MOST_BYTES = 1 << 30  # of one message: MPI counts in 32 bits
SHORT_NAPS, MORE_NAPS = 40, 200  # looks of the receiving thread in vain before it sleeps longer

function = numba.njit(**OPTIONS)


@function
def test(channel, request, status):
    """Whether MPI has finished with a request."""
    process = load_word(channel + 8 * PROCESS)
    flag = load_word(channel + 8 * STATUS) + status
    store_word(flag, 0)
    failed = call_3(load_word(process + 8 * TEST), request, flag, flag + 8)
    if failed != 0:
        store_word(channel + 8 * FAILED, failed)
        return False
    return load_word(flag) & 0xFFFFFFFF != 0


@function
def post(channel, send, buffer, nbytes, pe, tag, request):
    """Begin to send or receive bytes."""
    process = load_word(channel + 8 * PROCESS)
    start = load_word(process + 8 * (ISEND if send else IRECV))
    byte, comm = load_word(channel + 8 * BYTE), load_word(channel + 8 * COMM)
    failed = call_7(start, buffer, nbytes, byte, pe, tag, comm, request)
    if failed != 0:
        store_word(channel + 8 * FAILED, failed)


OUT_STATUS, IN_STATUS = 0, 128  # a flag and an MPI_Status each, for the kernels' thread and for whoever holds LOCK


@function
def head_of(channel, ring, next_slot):
    """Address of the header of the next slot of a ring."""
    return load_word(channel + 8 * ring) + load_word(channel + 8 * next_slot) % N_SLOTS * SLOT_BYTES


@function
def request_of(channel, requests, next_slot):
    """Address of the request of the next slot of a ring."""
    return load_word(channel + 8 * requests) + load_word(channel + 8 * next_slot) % N_SLOTS * 8


@function
def write_head(channel, head, kind, dst, nbytes, signal, value):
    """Fill a header."""
    store_word(head + KIND, kind)
    store_word(head + DST, dst)
    store_word(head + NBYTES, nbytes)
    store_word(head + SIGNAL, signal)
    store_word(head + VALUE, value)
    store_word(head + SENDER, load_word(channel + 8 * ME))


@function
def wait_for(ctx, channel, request, pe):
    """Wait for a request of the kernels' thread, before the deadline.  Returns False once this PE has given up."""
    spins = since_ns = 0
    while not test(channel, request, OUT_STATUS):
        if load_word(ctx + 8 * ctx_words.GAVE_UP) != 0:
            return False
        spins += 1
        since_ns = pause(ctx, spins, since_ns, pe)
        if since_ns < 0:
            give_up(ctx, 0, 0, pe, 0)
            return False
    return True


@function
def out_slot(ctx, channel, pe):
    """The header of a free slot to send from, 0 if this PE has given up and none is free."""
    if not wait_for(ctx, channel, request_of(channel, OUT_REQUESTS, OUT_NEXT), pe):
        return 0
    return head_of(channel, OUT, OUT_NEXT)


@function
def send_out(channel, head, nbytes, pe):
    """Send a slot: its header and ``nbytes`` behind it."""
    post(channel, True, head, HEAD_BYTES + nbytes, pe, TAG, request_of(channel, OUT_REQUESTS, OUT_NEXT))
    store_word(channel + 8 * OUT_NEXT, load_word(channel + 8 * OUT_NEXT) + 1)


def send(ctx, dst, src, nbytes, signal, value, pe):
    """``primitives.send_message``; src is free again when it returns."""
    channel = load_word(ctx + 8 * ctx_words.NETWORK)
    moved = load_word(load_word(channel + 8 * MOVED) + 8 * pe)
    head = out_slot(ctx, channel, pe)
    if head == 0 or (nbytes == 0 and signal == 0):
        return
    there, word = dst + moved, signal + moved if signal != 0 else 0
    if nbytes <= DATA_BYTES:
        write_head(channel, head, DATA, there, nbytes, word, value)
        copy_bytes(head + HEAD_BYTES, src, nbytes)
        send_out(channel, head, nbytes, pe)
        return
    write_head(channel, head, LARGE, there, nbytes, word, value)
    send_out(channel, head, 0, pe)
    request = channel + 8 * LARGE_OUT_REQUEST
    while nbytes > 0:
        part = min(nbytes, MOST_BYTES)
        post(channel, True, src, part, pe, LARGE_TAG, request)
        if not wait_for(ctx, channel, request, pe):
            return
        src += part
        nbytes -= part


def get(ctx, dst, src, nbytes, _signal, _value, pe):
    """``get`` from a PE of another node: it sends the data when one of its threads looks."""
    channel = load_word(ctx + 8 * ctx_words.NETWORK)
    moved = load_word(load_word(channel + 8 * MOVED) + 8 * pe)
    head = out_slot(ctx, channel, pe)
    if head == 0 or nbytes == 0 or load_word(ctx + 8 * ctx_words.GAVE_UP) != 0:
        return
    number = load_word(channel + 8 * GETS) + 1
    store_word(channel + 8 * GETS, number)
    write_head(channel, head, GET, src + moved, nbytes, dst, number)
    send_out(channel, head, 0, pe)
    spins = since_ns = 0
    while load_acquire(channel + 8 * GOT) < number:
        spins += 1
        since_ns = pause(ctx, spins, since_ns, pe)
        if since_ns < 0:
            give_up(ctx, 0, number, pe, 0)
            return


# Receiving, by the thread that holds LOCK -------------------------------------------------


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


I64 = types.int64
FUNCTIONS = {
    "send": (send, types.void(*(I64,) * 7)),
    "get": (get, types.void(*(I64,) * 7)),
    "progress": (progress, types.void(I64)),
    "serve": (serve, types.void(I64)),
    "begin": (begin, types.void(I64, I64)),
    "end": (end, types.void(I64, I64)),
}


@cache
def address_of(name: str) -> int:
    """Address of one of the FUNCTIONS as compiled code.  The code lives as long as the process."""
    plain, signature = FUNCTIONS[name]

    def make() -> bytes:
        compiled = numba.cfunc(signature, **OPTIONS)(plain)
        return packed(compiled._library, compiled.native_name)

    loaded = load(made_once(f"network_{name}", (*facts(), name), make))
    _kept.append(loaded)
    return loaded.address


_kept: list[Loaded] = []


def callable_of(name: str) -> Callable[..., None]:
    """The same for Python, which lets other threads run meanwhile."""
    made: Callable[..., None] = ctypes.CFUNCTYPE(None, *(ctypes.c_int64,) * len(FUNCTIONS[name][1].args))(
        address_of(name)
    )
    return made
