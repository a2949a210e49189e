"""Puts, gets and signals to PEs of other nodes on CPUs: compiled functions that call the program's own MPI by address.

A message is a header of 64 bytes with up to 64 KiB of data behind it; a larger put is a header, and then a second message
that MPI receives in its place.  Messages from one PE to another are numbered and taken in that order, so a signal comes
after the puts before it.  Addresses in a header are those of the PE that receives it (receive.py).
"""

import numba

from ..compile import context as ctx_words
from .intrinsics import call_3, call_7, copy_bytes, load_acquire, load_word, store_word
from .primitives import OPTIONS, give_up, pause

# Words of a process.  POLLS: how often its waits have looked;  CHANNELS: addresses of those of its teams
LOCK, STOP, POLLS, ISEND, IRECV, TEST, TESTANY, N_CHANNELS, CHANNELS = range(9)
# Words of a channel: MPI's handles, then rings of slots and the requests that use them.  OUT: of the kernels' thread;
# REPLIES: of the thread that holds LOCK;  ASKED: what peers have asked for
PROCESS, COMM, BYTE, ANY_SOURCE, ME, N_PES, STATUS = range(7)
IN, IN_REQUESTS, REQUEST_BYTES, OUT, OUT_REQUESTS, OUT_NEXT, REPLIES, REPLY_REQUESTS, REPLY_NEXT = range(7, 16)
ASKED, ASKED_FIRST, ASKED_NEXT, MOST_ASKED = range(16, 20)
# MOVED: what to add to an address for each PE;  GOT: the last get that has ended, and THEIR_GOT its address on each PE
MOVED, GETS, GOT, THEIR_GOT, FAILED = range(20, 25)
# HELD: (N_SLOTS,) 1 where a message is ahead of its turn;  SENT_TO, DUE_FROM: (2 streams, n_pes) numbers of messages
HELD, N_HELD, SENT_TO, DUE_FROM = range(25, 29)
LARGE_LEFT, LARGE_AT, LARGE_FROM, LARGE_SIGNAL, LARGE_VALUE, LARGE_REQUEST, LARGE_OUT_REQUEST = range(29, 36)
CHANNEL_WORDS = 36

HEAD_BYTES, DATA_BYTES = 64, 65536
SLOT_BYTES, N_SLOTS = HEAD_BYTES + DATA_BYTES, 32
KIND, DST, NBYTES, SIGNAL, VALUE, STREAM, NUMBER = (8 * k for k in range(7))  # of a header; a GET's DST is what it reads
DATA, LARGE, GET = range(3)
ASKED_AT, ASKED_NBYTES, ASKED_DST, ASKED_VALUE, ASKED_BY = (8 * k for k in range(5))  # of a get
ASKED_WORDS = 5
TAG, LARGE_TAG = 32703, 32704  # beside those of job/rendezvous.py
MOST_BYTES = 1 << 30  # of one message: MPI counts in 32 bits

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
def write_head(channel, head, kind, dst, nbytes, signal, value, pe, stream):
    """Fill a header of the next message to PE ``pe``.  stream: 0 of the kernels' thread, 1 of replies"""
    n_pes = load_word(channel + 8 * N_PES)
    sent = load_word(channel + 8 * SENT_TO) + 8 * (stream * n_pes + pe)
    store_word(head + KIND, kind)
    store_word(head + DST, dst)
    store_word(head + NBYTES, nbytes)
    store_word(head + SIGNAL, signal)
    store_word(head + VALUE, value)
    store_word(head + STREAM, stream * n_pes + load_word(channel + 8 * ME))
    store_word(head + NUMBER, load_word(sent))
    store_word(sent, load_word(sent) + 1)


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
        write_head(channel, head, DATA, there, nbytes, word, value, pe, 0)
        copy_bytes(head + HEAD_BYTES, src, nbytes)
        send_out(channel, head, nbytes, pe)
        return
    write_head(channel, head, LARGE, there, nbytes, word, value, pe, 0)
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
    write_head(channel, head, GET, src + moved, nbytes, dst, number, pe, 0)
    send_out(channel, head, 0, pe)
    spins = since_ns = 0
    while load_acquire(channel + 8 * GOT) < number:
        spins += 1
        since_ns = pause(ctx, spins, since_ns, pe)
        if since_ns < 0:
            give_up(ctx, 0, number, pe, 0)
            return
