"""Puts, gets and signals to PEs of other nodes on CPUs: compiled functions that call the program's own MPI by address.

A message is a header of 64 bytes followed by up to 32 KiB of data; a put of more than 128 KiB is a header, and then a
second message that MPI receives in its place.  MPI keeps the order of messages from one PE to another, so a signal comes
after the puts before it.  Addresses in a header are those of the PE that receives it (receive.py).
"""

import numba

from ..compile import context as ctx_words
from .intrinsics import call_3, call_7, copy_bytes, load_acquire, load_word, store_word
from .primitives import OPTIONS
from .waits import give_up, pause

# Words of a process.  POLLS: how often its waits have looked;  CHANNELS: addresses of those of its teams
LOCK, STOP, POLLS, ISEND, IRECV, TEST, TESTANY, N_CHANNELS, CHANNELS = range(9)
# Words of a channel: MPI's handles; a slot and a request for each PE of another node, which SOURCES names; LARGES: the
# large put that it sends; rings of slots to send from: OUT by the kernels' thread, REPLIES by the thread that holds LOCK
PROCESS, COMM, BYTE, STATUS = range(4)
IN, IN_REQUESTS, REQUEST_BYTES, N_SOURCES, SOURCES, LARGES = range(4, 10)
OUT, OUT_REQUESTS, OUT_NEXT, REPLIES, REPLY_REQUESTS, REPLY_NEXT, LARGE_REQUEST = range(10, 17)
# ASKED: the gets of peers;  MOVED: what to add to an address for each PE;  GOT: the last get that has ended
# THEIR_GOT: its address on each PE
ASKED, ASKED_FIRST, ASKED_NEXT, MOST_ASKED, MOVED, GETS, GOT, THEIR_GOT, FAILED = range(17, 26)
CHANNEL_WORDS = 26

HEAD_BYTES, DATA_BYTES = 64, 32768  # MPIs ask before they send 64 KiB by TCP, which takes as long as the data
MOST_SMALL = 4  # messages of a put
SLOT_BYTES, N_SLOTS = HEAD_BYTES + DATA_BYTES, 32
KIND, DST, NBYTES, SIGNAL, VALUE = (8 * k for k in range(5))  # of a header; a GET's DST is what it reads
DATA, LARGE, GET = range(3)
LEFT, AT, LAST_SIGNAL, LAST_VALUE = (8 * k for k in range(4))  # of a large put: bytes that have not come, where to
LARGE_WORDS = 4
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


# A flag and an MPI_Status each: for the kernels' thread, and for the thread that holds LOCK.
OUT_STATUS, IN_STATUS = 0, 128


@function
def head_of(channel, ring, next_slot):
    """Address of the header of the next slot of a ring."""
    return load_word(channel + 8 * ring) + load_word(channel + 8 * next_slot) % N_SLOTS * SLOT_BYTES


@function
def request_of(channel, requests, next_slot):
    """Address of the request of the next slot of a ring."""
    return load_word(channel + 8 * requests) + load_word(channel + 8 * next_slot) % N_SLOTS * 8


@function
def write_head(head, kind, dst, nbytes, signal, value):
    """Fill a header."""
    store_word(head + KIND, kind)
    store_word(head + DST, dst)
    store_word(head + NBYTES, nbytes)
    store_word(head + SIGNAL, signal)
    store_word(head + VALUE, value)


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
    """Send a slot: its header and then ``nbytes``."""
    post(channel, True, head, HEAD_BYTES + nbytes, pe, TAG, request_of(channel, OUT_REQUESTS, OUT_NEXT))
    store_word(channel + 8 * OUT_NEXT, load_word(channel + 8 * OUT_NEXT) + 1)


def send(ctx, dst, src, nbytes, signal, value, pe):
    """``primitives.send_message``; src is free again when it returns."""
    channel = load_word(ctx + 8 * ctx_words.NETWORK)
    moved = load_word(load_word(channel + 8 * MOVED) + 8 * pe)
    if nbytes == 0 and signal == 0:
        return
    there, word = dst + moved, signal + moved if signal != 0 else 0
    while nbytes <= MOST_SMALL * DATA_BYTES:
        head, part = out_slot(ctx, channel, pe), min(nbytes, DATA_BYTES)
        if head == 0:
            return
        last = part == nbytes
        write_head(head, DATA, there, part, word if last else 0, value)
        copy_bytes(head + HEAD_BYTES, src, part)
        send_out(channel, head, part, pe)
        if last:
            return
        there, src, nbytes = there + part, src + part, nbytes - part
    head = out_slot(ctx, channel, pe)
    if head == 0:
        return
    write_head(head, LARGE, there, nbytes, word, value)
    send_out(channel, head, 0, pe)
    request = channel + 8 * LARGE_REQUEST
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
    write_head(head, GET, src + moved, nbytes, dst, number)
    send_out(channel, head, 0, pe)
    spins = since_ns = 0
    while load_acquire(channel + 8 * GOT) < number:
        spins += 1
        since_ns = pause(ctx, spins, since_ns, pe)
        if since_ns < 0:
            give_up(ctx, 0, number, pe, 0)
            return
