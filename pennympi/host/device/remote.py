"""Puts, gets and signals to PEs of other nodes on CPUs: compiled functions that call the program's own MPI by address.

A message is a header of 64 bytes followed by up to 32 KiB of data; a put of more than 128 KiB is a header, and then a
second message that MPI receives at the destination, like the answer to a get.  MPI keeps the order of messages from
one PE to another, so a signal comes after the puts before it.  Addresses in a header belong to the receiving PE
(receive.py).
"""

from ...compile import context as ctx_words
from .intrinsics import call, copy_bytes, load_word, store_word
from .numba_cpu import device_function
from .waits import give_up, pause

# Words of a process.  POLLS: number of looks of its waits;  CHANNELS: addresses of the channels of its teams
LOCK, STOP, POLLS, ISEND, IRECV, TEST, TESTANY, N_CHANNELS, CHANNELS = range(9)
# Words of a channel.  COMM, BYTE: handles of MPI;  SOURCES: numbers of the PEs of other nodes
# IN, IN_REQUESTS, ANSWERS: for each of these PEs a slot, the request of its receive, the request of the answer to a get
# OUT, OUT_REQUESTS: a ring of slots to send from, and their requests;  LARGE_REQUEST: request of a large put, or of a get
# MOVED: address of the differences between each PE's addresses and this PE's addresses
PROCESS, COMM, BYTE, STATUS = range(4)
IN, IN_REQUESTS, REQUEST_BYTES, N_SOURCES, SOURCES, ANSWERS = range(4, 10)
OUT, OUT_REQUESTS, OUT_NEXT, LARGE_REQUEST, MOVED, FAILED = range(10, 16)
CHANNEL_WORDS = 16

HEAD_BYTES, DATA_BYTES = 64, 32768  # MPIs negotiate before they send 64 KiB by TCP, which takes as long as the data
MOST_SMALL = 4  # most messages of a small put
SLOT_BYTES, N_SLOTS = HEAD_BYTES + DATA_BYTES, 32
KIND, DST, NBYTES, SIGNAL, VALUE = (8 * k for k in range(5))  # offsets in a header; a GET reads at its DST
# LAST: no message follows.  The header of a slot has two more kinds, which are never sent: PARTS: the data of a LARGE is
# under way, and DST and NBYTES describe the missing data; ENDED: LAST has arrived
DATA, LARGE, GET, LAST, PARTS, ENDED = range(6)
TAG, LARGE_TAG, GET_TAG = 32703, 32704, 32705  # different from the tags of job/rendezvous.py
MOST_BYTES = 1 << 30  # most bytes of a message: MPI counts in 32 bits


@device_function
def test(channel, request, status):
    """Whether MPI has finished with a request."""
    process = load_word(channel + 8 * PROCESS)
    flag = load_word(channel + 8 * STATUS) + status
    store_word(flag, 0)
    failed = call(load_word(process + 8 * TEST), request, flag, flag + 8)
    if failed != 0:
        store_word(channel + 8 * FAILED, failed)
        return False
    return load_word(flag) & 0xFFFFFFFF != 0


@device_function
def post(channel, send, buffer, nbytes, pe, tag, request):
    """Begin to send or receive bytes."""
    process = load_word(channel + 8 * PROCESS)
    start = load_word(process + 8 * (ISEND if send else IRECV))
    byte, comm = load_word(channel + 8 * BYTE), load_word(channel + 8 * COMM)
    failed = call(start, buffer, nbytes, byte, pe, tag, comm, request)
    if failed != 0:
        store_word(channel + 8 * FAILED, failed)


# Offsets of a flag and an MPI_Status: of the kernels' thread, and of the thread that holds LOCK.
OUT_STATUS, IN_STATUS = 0, 128


@device_function
def out_request(channel):
    """Address of the request of the next slot to send from."""
    k = load_word(channel + 8 * OUT_NEXT) % N_SLOTS
    return load_word(channel + 8 * OUT_REQUESTS) + k * load_word(channel + 8 * REQUEST_BYTES)


@device_function
def write_head(head, kind, dst, nbytes, signal, value):
    """Fill a header."""
    store_word(head + KIND, kind)
    store_word(head + DST, dst)
    store_word(head + NBYTES, nbytes)
    store_word(head + SIGNAL, signal)
    store_word(head + VALUE, value)


@device_function
def wait_for(ctx, channel, request, pe):
    """Wait, until the deadline, for a request of the kernels' thread.  Returns False if this PE has given up."""
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


@device_function
def out_slot(ctx, channel, pe):
    """Address of the header of a free slot to send from, 0 if no slot is free and this PE has given up."""
    if not wait_for(ctx, channel, out_request(channel), pe):
        return 0
    return load_word(channel + 8 * OUT) + load_word(channel + 8 * OUT_NEXT) % N_SLOTS * SLOT_BYTES


@device_function
def send_out(channel, head, nbytes, pe):
    """Send a slot: its header and ``nbytes`` of data."""
    post(channel, True, head, HEAD_BYTES + nbytes, pe, TAG, out_request(channel))
    store_word(channel + 8 * OUT_NEXT, load_word(channel + 8 * OUT_NEXT) + 1)


def send(ctx, dst, src, nbytes, signal, value, pe):
    """``primitives.send_message``; when it returns, src is free again."""
    channel = load_word(ctx + 8 * ctx_words.NETWORK)
    moved = load_word(load_word(channel + 8 * MOVED) + 8 * pe)
    if nbytes == 0 and signal == 0:
        return
    remote_address, word = dst + moved, signal + moved if signal != 0 else 0
    while nbytes <= MOST_SMALL * DATA_BYTES:
        head, part = out_slot(ctx, channel, pe), min(nbytes, DATA_BYTES)
        if head == 0:
            return
        last = part == nbytes
        write_head(head, DATA, remote_address, part, word if last else 0, value)
        copy_bytes(head + HEAD_BYTES, src, part)
        send_out(channel, head, part, pe)
        if last:
            return
        remote_address, src, nbytes = remote_address + part, src + part, nbytes - part
    head = out_slot(ctx, channel, pe)
    if head == 0:
        return
    write_head(head, LARGE, remote_address, nbytes, word, value)
    send_out(channel, head, 0, pe)
    request = load_word(channel + 8 * LARGE_REQUEST)
    while nbytes > 0:
        part = min(nbytes, MOST_BYTES)
        post(channel, True, src, part, pe, LARGE_TAG, request)
        if not wait_for(ctx, channel, request, pe):
            return
        src += part
        nbytes -= part


def get(ctx, dst, src, nbytes, _signal, _value, pe):
    """``get`` from a PE of another node, which sends the data when one of its threads looks."""
    channel = load_word(ctx + 8 * ctx_words.NETWORK)
    remote_address = src + load_word(load_word(channel + 8 * MOVED) + 8 * pe)
    request = load_word(channel + 8 * LARGE_REQUEST)
    while nbytes > 0 and load_word(ctx + 8 * ctx_words.GAVE_UP) == 0:
        head, part = out_slot(ctx, channel, pe), min(nbytes, MOST_BYTES)
        if head == 0:
            return
        post(channel, False, dst, part, pe, GET_TAG, request)
        write_head(head, GET, remote_address, part, 0, 0)
        send_out(channel, head, 0, pe)
        if not wait_for(ctx, channel, request, pe):
            return
        remote_address, dst, nbytes = remote_address + part, dst + part, nbytes - part
