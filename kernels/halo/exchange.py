"""One halo exchange: every message of all fields in one launch, without a barrier and without the host.

A **message** holds the points of one field that one PE sends to one neighbour at one side.  It takes one of three ways:

- DIRECT: straight into the neighbour's field.  A PE may still read its halo when its neighbour begins the next
  exchange.  So the receiver first signals that its own exchange has begun: its stream has finished all earlier reads.
  One more latency step, and no copy: for large messages.
- INBOX: into the neighbour's inbox, as packed lines, which the neighbour copies.  One latency step: for small messages.
- PACKED: as INBOX, without a pointer to the neighbour: the sender packs the lines in the outbox and puts them.

An inbox has two buffers, for even and odd epochs.  Neighbours send to each other, so a PE in exchange e+1 has received
its neighbour's message of e.  The neighbour sent it after it had read, in exchange e-1, the buffer that e+1 uses.  One
signal word suffices: an exchange ends when the messages that it sent have arrived, and a PE signals that it is ready
again only after it has received the message that it waited for.

Source: the handshake of MPI's rendezvous protocol, and the eager one for small messages.
"""

from ..block import block, blocks, fence, put_lines, put_signal, read_epoch, signal, sync, wait, write_epoch
from ..records import Halo, Message, Work
from .message import DIRECT, PACKED, HaloPart, arrived_word, offset_bytes, part_at, part_bytes, ready_word, slot


def exchange_halos(ctx: int, halo: Halo, work: Work):
    """All halos of the fields = the neighbours' points.

    inbox   (2 buffers, inbox_bytes) bytes;  outbox (inbox_bytes,)
    signals (parts, 2) words: ready, arrived;  epochs (parts,) words, which only this PE writes
    """
    if blocks() == halo.n_messages * halo.pieces:  # all blocks run at once, and each handles one part
        part = part_at(halo, block())
        epoch = next_epoch(halo, part, work.tag)
        allow(ctx, halo, part, epoch)
        send(ctx, halo, part, epoch)
        receive(ctx, halo, part, epoch)
        fence(ctx)
        write_epoch(halo.epochs, part.own_index, epoch - work.tag)
    else:  # halo_ready waits for no PE, so a block may have any number of parts
        halo_ready(ctx, halo, work.tag)
        halo_put(ctx, halo, work.tag)
        halo_wait(ctx, halo, work.tag)


def halo_ready(ctx: int, halo: Halo, tag: int = 0):
    """Allow the neighbours to write the halos.  Call it after all blocks of this PE have read the halos."""
    for k in parts(halo):
        part = part_at(halo, k)
        allow(ctx, halo, part, next_epoch(halo, part, tag))


def halo_put(ctx: int, halo: Halo, tag: int = 0):
    """Send this block's parts of the messages.  Call it after all blocks have computed this PE's points."""
    for k in parts(halo):
        part = part_at(halo, k)
        send(ctx, halo, part, next_epoch(halo, part, tag))


def halo_wait(ctx: int, halo: Halo, tag: int = 0):
    """Wait for this block's parts of the messages, and copy packed lines to the fields."""
    for k in parts(halo):
        part = part_at(halo, k)
        receive(ctx, halo, part, next_epoch(halo, part, tag))
    fence(ctx)  # this PE's messages have arrived, so the outbox is free again
    for k in parts(halo):
        part = part_at(halo, k)
        write_epoch(halo.epochs, part.own_index, next_epoch(halo, part, 0))
        sync()


def allow(ctx: int, halo: Halo, part: HaloPart, epoch: int):
    """Signal to the sender of a DIRECT part that it may put the part."""
    if part.received.way == DIRECT:
        signal(ctx, ready_word(halo, part.peer_index), epoch, part.pe)


def send(ctx: int, halo: Halo, part: HaloPart, epoch: int):
    """Send a part, and signal that it has arrived."""
    message = part.sent
    if message.way == PACKED:
        packed, offset = halo.outbox + message.offset, offset_bytes(message.lines)
        dst, nbytes = slot(halo, epoch) + message.offset + offset, part_bytes(message.lines)
        put_lines(ctx, packed, message.address, message.lines, halo.me)
        put_signal(ctx, Message(dst, packed + offset, nbytes, part.pe), arrived_word(halo, part.peer_index), epoch)
    else:
        dst = message.remote_address
        if message.way == DIRECT:
            wait(ctx, ready_word(halo, part.own_index), epoch, part.pe)
        else:
            dst = slot(halo, epoch) + message.offset
        put_lines(ctx, dst, message.address, message.lines, part.pe)
        signal(ctx, arrived_word(halo, part.peer_index), epoch, part.pe)


def receive(ctx: int, halo: Halo, part: HaloPart, epoch: int):
    """Wait for a part, and copy a packed part to the field."""
    message = part.received
    wait(ctx, arrived_word(halo, part.own_index), epoch, part.pe)
    if message.way != DIRECT:
        put_lines(ctx, message.address, slot(halo, epoch) + message.offset, message.lines, halo.me)


def parts(halo: Halo):
    """The parts of messages that this block handles."""
    return range(block(), halo.n_messages * halo.pieces, blocks())


def next_epoch(halo: Halo, part: HaloPart, tag: int) -> int:
    """The epoch of the exchange that a part is in."""
    return read_epoch(halo.epochs, part.own_index) + 1 + tag
