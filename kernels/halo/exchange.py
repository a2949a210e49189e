"""One halo exchange: every message of all fields in one launch, without a barrier and without the host.

A **message** is what one PE has for one neighbour: the points of one field at one side.  It goes one of three ways:

- DIRECT: straight into the neighbour's field.  A PE may still read its halo when its neighbour begins the next
  exchange.  So the receiver first signals that its own exchange has begun: its stream has finished all earlier reads.
  One more latency step, and no copy: for large messages.
- INBOX: into the neighbour's inbox, as packed lines, which the neighbour copies: one latency step, for small messages.
- PACKED: the same where no pointer reaches the neighbour: packed in the outbox, put, and unpacked.

An inbox has two halves, used in turn.  Neighbours are neighbours both ways: a PE that is in exchange
e+1 has ended its exchange e, so it has the message that its neighbour sent in e, after that neighbour's exchange e-1,
which read the half of e+1.  A signal has one word: an exchange ends when what it sent has arrived, and a PE says again
that it is ready only when the message that it allowed has come.

Source: the handshake of MPI's rendezvous protocol, and the eager one for small messages.
"""

from ..block import block, blocks, fence, put_lines, put_signal, read_epoch, signal, sync, wait, write_epoch
from ..records import Halo, Work
from .message import DIRECT, PACKED, Row, arrived_word, offset_bytes, part_bytes, ready_word, row_at, slot


def exchange_halos(ctx: int, halo: Halo, work: Work):
    """Every halo of the fields = the neighbours' points.

    inbox   (2 parities, inbox_bytes) bytes;  outbox (inbox_bytes,)
    signals (parts, 2) words: ready, arrived;  epochs (parts,), this PE's own
    """
    if blocks() == halo.n_messages * halo.pieces:  # a part a block, which all run at once (one, on a CPU): one reading
        row = row_at(halo, block())
        epoch = next_epoch(halo, row, work.signature)
        allow(ctx, halo, row, epoch)
        send(ctx, halo, row, epoch)
        receive(ctx, halo, row, epoch)
        fence(ctx)
        write_epoch(halo.epochs, row.here, epoch - work.signature)
    else:  # what comes first waits for no PE, so that a block may have any number of parts
        halo_ready(ctx, halo, work.signature)
        halo_put(ctx, halo, work.signature)
        halo_wait(ctx, halo, work.signature)


def halo_ready(ctx: int, halo: Halo, signature: int = 0):
    """Let the neighbours write: no block of this PE reads the halos any more."""
    for part in parts(halo):
        row = row_at(halo, part)
        allow(ctx, halo, row, next_epoch(halo, row, signature))


def halo_put(ctx: int, halo: Halo, signature: int = 0):
    """Write this block's parts of the messages to the neighbours: the own points have been computed by all blocks."""
    for part in parts(halo):
        row = row_at(halo, part)
        send(ctx, halo, row, next_epoch(halo, row, signature))


def halo_wait(ctx: int, halo: Halo, signature: int = 0):
    """Wait for this block's parts of the messages, and copy to the fields what came packed."""
    for part in parts(halo):
        row = row_at(halo, part)
        receive(ctx, halo, row, next_epoch(halo, row, signature))
    fence(ctx)  # what was sent has arrived, and the outbox is free again
    for part in parts(halo):
        row = row_at(halo, part)
        write_epoch(halo.epochs, row.here, next_epoch(halo, row, 0))
        sync()


def allow(ctx: int, halo: Halo, row: Row, epoch: int):
    """Signal to the sender that it may put its part."""
    if row.received.way == DIRECT:
        signal(ctx, ready_word(halo, row.there), epoch, row.pe)


def send(ctx: int, halo: Halo, row: Row, epoch: int):
    """Put a part and signal it."""
    message = row.sent
    if message.way == PACKED:
        room, offset = halo.outbox + message.room, offset_bytes(message.lines)
        there, nbytes = slot(halo, epoch) + message.room + offset, part_bytes(message.lines)
        put_lines(ctx, room, message.address, message.lines, halo.me)
        put_signal(ctx, there, room + offset, nbytes, arrived_word(halo, row.there), epoch, row.pe)
    else:
        there = message.there
        if message.way == DIRECT:
            wait(ctx, ready_word(halo, row.here), epoch, row.pe)
        else:
            there = slot(halo, epoch) + message.room
        put_lines(ctx, there, message.address, message.lines, row.pe)
        signal(ctx, arrived_word(halo, row.there), epoch, row.pe)


def receive(ctx: int, halo: Halo, row: Row, epoch: int):
    """Wait for a part, and copy it to the field where it came packed."""
    message = row.received
    wait(ctx, arrived_word(halo, row.here), epoch, row.pe)
    if message.way != DIRECT:
        put_lines(ctx, message.address, slot(halo, epoch) + message.room, message.lines, halo.me)


def parts(halo: Halo):
    """The parts of messages that this block handles."""
    return range(block(), halo.n_messages * halo.pieces, blocks())


def next_epoch(halo: Halo, row: Row, signature: int) -> int:
    """The epoch of a part's exchange, until it has ended."""
    return read_epoch(halo.epochs, row.here) + 1 + signature
