"""One halo exchange: every message of all fields in one launch, without a barrier and without the host.

A **message** is what one PE has for one neighbour: the points of one field at one side.  It goes one of three ways:

- DIRECT: straight into the neighbour's field.  Who reads a halo may still read it when its neighbour comes to the next
  exchange; so the receiver first says that it has come to this exchange itself: all that it read before is behind it in
  its stream.  One more hop, and no copy: for large messages.
- INBOX: into the neighbour's inbox, as packed lines, from where the neighbour copies them: one hop, for small messages.
- PACKED: the same where no pointer reaches the neighbour: packed in the outbox, put, and unpacked.

An inbox has two halves, used by the parity of the epoch.  Neighbours are neighbours both ways: a PE that is in exchange
e+1 has ended its exchange e, so it has the message that its neighbour sent in e, after that neighbour's exchange e-1,
which read the half of e+1.  The words for arrivals are doubled for the same reason: two may be under way.  The word for
readiness is one: a PE says it again only when the message that it allowed has come.

Source: the handshake of MPI's rendezvous protocol, and the eager one for small messages.
"""

from ..block import block, blocks, fence, put_lines, put_signal, signal, wait
from ..records import Halo, Work
from ..steps import finish_epoch, last_epoch
from .message import DIRECT, PACKED, arrived_word, inbound, offset_bytes, outbound, part_bytes, ready_word, slot


def exchange_halos(ctx: int, halo: Halo, work: Work):
    """Every halo of the fields = the neighbours' points.

    inbox   (2 parities, inbox_bytes) bytes;  outbox (inbox_bytes,)
    signals (n_messages * pieces, 3) words: ready, arrived by parity;  epochs (blocks,), this PE's own
    """
    epoch = last_epoch(work) + 1
    n_parts = halo.n_messages * halo.pieces
    # Three loops: what a PE says first waits for nobody, so that the parts of one block may come in any number.
    for part in range(block(), n_parts, blocks()):
        allow(ctx, halo, part, epoch)
    for part in range(block(), n_parts, blocks()):
        send(ctx, halo, part, epoch)
    for part in range(block(), n_parts, blocks()):
        receive(ctx, halo, part, epoch)
    fence(ctx)  # the outbox is free again
    finish_epoch(work, epoch)


def allow(ctx: int, halo: Halo, part: int, epoch: int):
    """Let the sender of a direct message write."""
    message = inbound(halo, part)
    if message.pe >= 0 and message.way == DIRECT:
        signal(ctx, ready_word(halo, part), epoch, message.pe)


def send(ctx: int, halo: Halo, part: int, epoch: int):
    """Write a part of a message to its receiver, and signal."""
    message, arrived = outbound(halo, part), arrived_word(halo, part, epoch)
    if message.pe >= 0:
        if message.way == PACKED:
            offset = message.room + offset_bytes(message.lines)
            put_lines(ctx, halo.outbox + message.room, message.address, message.lines, halo.me)
            there, nbytes = slot(halo, epoch) + offset, part_bytes(message.lines)
            put_signal(ctx, there, halo.outbox + offset, nbytes, arrived, epoch, message.pe)
        else:
            there = message.there
            if message.way == DIRECT:
                wait(ctx, ready_word(halo, part), epoch, message.pe)
            else:
                there = slot(halo, epoch) + message.room
            put_lines(ctx, there, message.address, message.lines, message.pe)
            signal(ctx, arrived, epoch, message.pe)


def receive(ctx: int, halo: Halo, part: int, epoch: int):
    """Wait for a part of a message, and copy it to the field where it came packed."""
    message = inbound(halo, part)
    if message.pe >= 0:
        wait(ctx, arrived_word(halo, part, epoch), epoch, message.pe)
        if message.way != DIRECT:
            put_lines(ctx, message.address, slot(halo, epoch) + message.room, message.lines, halo.me)
