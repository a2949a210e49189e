"""One halo exchange: every message of all fields in one launch, without a barrier and without the host.

A **message** holds the points of one field that one PE sends to one neighbour at one side.  It takes one of three ways:

- DIRECT: straight into the neighbour's field.  A PE may still read its halo when its neighbour begins the next
  exchange.  So the receiver first signals that its own exchange has begun: its stream has finished all earlier reads.
  One more latency step, and no copy: for large messages.
- INBOX: into the neighbour's inbox, as packed lines, which the neighbour copies: one latency step, for small messages.
- PACKED: the same without a pointer to the neighbour: the sender packs the lines in the outbox and puts them.

An inbox has two buffers, used by even and odd epochs.  Two neighbours send to each other, so a PE in exchange e+1 has
received the message of e from its neighbour, which sent it after it had read the buffer of e+1 in its exchange e-1.  One
signal word is enough: an exchange ends when the messages that it sent have arrived, and a PE signals that it is ready
again only after the message that it waited for has come.

Source: the handshake of MPI's rendezvous protocol, and the eager one for small messages.
"""

from ..block import block, blocks, fence, put_lines, put_signal, read_epoch, signal, sync, wait, write_epoch
from ..records import Halo, Message, Work
from .message import DIRECT, PACKED, Row, arrived_word, offset_bytes, part_bytes, ready_word, row_at, slot


def exchange_halos(ctx: int, halo: Halo, work: Work):
    """Every halo of the fields = the neighbours' points.

    inbox   (2 buffers, inbox_bytes) bytes;  outbox (inbox_bytes,)
    signals (parts, 2) words: ready, arrived;  epochs (parts,), this PE's own
    """
    if blocks() == halo.n_messages * halo.pieces:  # all blocks run at once (a CPU has one), each reads its row once
        row = row_at(halo, block())
        epoch = next_epoch(halo, row, work.tag)
        allow(ctx, halo, row, epoch)
        send(ctx, halo, row, epoch)
        receive(ctx, halo, row, epoch)
        fence(ctx)
        write_epoch(halo.epochs, row.here, epoch - work.tag)
    else:  # halo_ready comes first and waits for no PE, so that a block may have any number of parts
        halo_ready(ctx, halo, work.tag)
        halo_put(ctx, halo, work.tag)
        halo_wait(ctx, halo, work.tag)


def halo_ready(ctx: int, halo: Halo, tag: int = 0):
    """Allow the neighbours to write the halos.  Call it when no block of this PE reads them any more."""
    for part in parts(halo):
        row = row_at(halo, part)
        allow(ctx, halo, row, next_epoch(halo, row, tag))


def halo_put(ctx: int, halo: Halo, tag: int = 0):
    """Send this block's parts of the messages.  Call it when all blocks have computed the own points."""
    for part in parts(halo):
        row = row_at(halo, part)
        send(ctx, halo, row, next_epoch(halo, row, tag))


def halo_wait(ctx: int, halo: Halo, tag: int = 0):
    """Wait for this block's parts of the messages, and copy packed lines to the fields."""
    for part in parts(halo):
        row = row_at(halo, part)
        receive(ctx, halo, row, next_epoch(halo, row, tag))
    fence(ctx)  # the messages have arrived, so the outbox is free again
    for part in parts(halo):
        row = row_at(halo, part)
        write_epoch(halo.epochs, row.here, next_epoch(halo, row, 0))
        sync()


def allow(ctx: int, halo: Halo, row: Row, epoch: int):
    """Signal to the sender of a DIRECT part that it may put the part."""
    if row.received.way == DIRECT:
        signal(ctx, ready_word(halo, row.there), epoch, row.pe)


def send(ctx: int, halo: Halo, row: Row, epoch: int):
    """Send a part, and signal that it has arrived."""
    message = row.sent
    if message.way == PACKED:
        packed, offset = halo.outbox + message.offset, offset_bytes(message.lines)
        there, nbytes = slot(halo, epoch) + message.offset + offset, part_bytes(message.lines)
        put_lines(ctx, packed, message.address, message.lines, halo.me)
        put_signal(ctx, Message(there, packed + offset, nbytes, row.pe), arrived_word(halo, row.there), epoch)
    else:
        there = message.there
        if message.way == DIRECT:
            wait(ctx, ready_word(halo, row.here), epoch, row.pe)
        else:
            there = slot(halo, epoch) + message.offset
        put_lines(ctx, there, message.address, message.lines, row.pe)
        signal(ctx, arrived_word(halo, row.there), epoch, row.pe)


def receive(ctx: int, halo: Halo, row: Row, epoch: int):
    """Wait for a part.  If it came packed, copy it to the field."""
    message = row.received
    wait(ctx, arrived_word(halo, row.here), epoch, row.pe)
    if message.way != DIRECT:
        put_lines(ctx, message.address, slot(halo, epoch) + message.offset, message.lines, halo.me)


def parts(halo: Halo):
    """The parts of messages that this block handles."""
    return range(block(), halo.n_messages * halo.pieces, blocks())


def next_epoch(halo: Halo, row: Row, tag: int) -> int:
    """The epoch of the exchange that a part is in."""
    return read_epoch(halo.epochs, row.here) + 1 + tag
