"""One halo exchange: every message of all fields in one launch, without a barrier and without the host.

A **message** holds the points of one field that one PE sends to one neighbour at one side.  It takes one of four ways:

- LOCAL: the PE is its own neighbour, and copies the points.
- PACKETS: as packets into the neighbour's inbox, which the neighbour copies to its field as they arrive.  One latency
  step, without a fence or a signal: for small messages.
- DIRECT: straight into the neighbour's field.  A PE may still read its halo when its neighbour begins the next
  exchange.  So the receiver first signals that its own exchange has begun: its stream has finished all earlier reads.
  One more latency step, and no copy: for large messages.
- PACKED: between PEs that can't exchange packets.  The sender packs the lines in the outbox and puts them into the
  neighbour's inbox, and the neighbour copies them to its field.

An inbox has two buffers, for even and odd epochs.  Neighbours send to each other, so a PE in exchange e+1 has received
its neighbour's message of e.  The neighbour sent this message after it had read, in exchange e-1, the buffer that e+1
uses.  One word of each kind suffices: a PE signals an arrival again only in its next exchange, and an exchange ends with
a fence, after which its messages have arrived; a PE signals again that it is ready only after it has received the
message of the neighbour, which waited for the word.

A message is divided into parts, which different blocks send and receive.  Packets need no signal, so a message of
packets may be sent in more parts than it is received in.

Source: MPI's rendezvous protocol, its eager protocol for small messages, and NCCL's protocol LL128.
"""

from ..block import (
    block,
    blocks,
    fence,
    put_lines,
    put_signal,
    read_epoch,
    receive_lines,
    send_lines,
    signal,
    wait,
    write_epoch,
)
from ..records import Halo, Message, Work
from .message import (
    LOCAL,
    PACKED,
    PACKETS,
    HaloPart,
    arrived_word,
    offset_bytes,
    part_at,
    part_bytes,
    ready_word,
    slot,
)


def exchange_halos(ctx: int, halo: Halo, work: Work):
    """The kernel: all halos of the fields = the neighbours' points.

    inbox   (2 buffers, inbox_bytes) bytes;  outbox (inbox_bytes,)
    signals (parts, 2) words: ready, arrived;  epochs (n_received + n_sent,) words, which only this PE writes
    """
    exchange_parts(ctx, halo, blocks(), blocks(), work.tag)


def exchange_parts(ctx: int, halo: Halo, receivers: int, senders: int, tag: int = 0):
    """Exchange this block's parts of the messages.

    receivers, senders: number of the first blocks of the launch that receive, and that send, which are at least as many
    """
    if block() < receivers:
        halo_ready(ctx, halo, receivers, tag)
    halo_put(ctx, halo, senders, tag)
    if block() < receivers:
        halo_wait(ctx, halo, receivers, tag)
    fence(ctx)  # this PE's messages have arrived, so the outbox is free again


def halo_ready(ctx: int, halo: Halo, n_blocks: int, tag: int = 0):
    """Allow the neighbours to write the halos.  Call it after all blocks of this PE have read the halos.

    A block allows all its parts before it waits for a PE.
    """
    row = block()
    while row < halo.n_direct:
        allow(ctx, halo, part_at(halo, row), next_epoch(halo, row) + tag)
        row += n_blocks


def halo_put(ctx: int, halo: Halo, n_blocks: int, tag: int = 0):
    """Send this block's parts of the messages.  Call it after all blocks of this PE have computed its points."""
    row = halo.n_received + block()
    while row < halo.n_received + halo.n_sent:
        epoch = next_epoch(halo, row)
        send(ctx, halo, part_at(halo, row), epoch + tag)
        write_epoch(halo.epochs, row, epoch)
        row += n_blocks


def halo_wait(ctx: int, halo: Halo, n_blocks: int, tag: int = 0):
    """Wait for this block's parts of the messages, and copy parts in the inbox to the fields."""
    row = block()
    while row < halo.n_received:
        epoch = next_epoch(halo, row)
        receive(ctx, halo, part_at(halo, row), epoch + tag)
        write_epoch(halo.epochs, row, epoch)
        row += n_blocks


def allow(ctx: int, halo: Halo, part: HaloPart, epoch: int):
    """Signal to the sender of a DIRECT part that it may put the part."""
    signal(ctx, ready_word(halo, part.peer_number), epoch, part.pe)


def send(ctx: int, halo: Halo, part: HaloPart, epoch: int):
    """Send a part, and signal its arrival unless it goes as packets."""
    message = part.end
    dst = slot(halo, epoch) + message.offset
    if message.way == PACKETS:
        send_lines(ctx, Message(dst, message.address, message.nbytes, part.pe), message.lines, epoch)
    elif message.way == PACKED:
        packed, offset = halo.outbox + message.offset, offset_bytes(message.lines)
        put_lines(ctx, packed, message.address, message.lines, halo.me)
        to_peer = Message(dst + offset, packed + offset, part_bytes(message.lines), part.pe)
        put_signal(ctx, to_peer, arrived_word(halo, part.peer_number), epoch)
    else:
        wait(ctx, ready_word(halo, part.own_number), epoch, part.pe)
        put_lines(ctx, message.remote_address, message.address, message.lines, part.pe)
        signal(ctx, arrived_word(halo, part.peer_number), epoch, part.pe)


def receive(ctx: int, halo: Halo, part: HaloPart, epoch: int):
    """Wait for a part, and copy it from the inbox to the field; a LOCAL part, from the field itself."""
    message = part.end
    src = slot(halo, epoch) + message.offset
    if message.way == PACKETS:
        receive_lines(ctx, Message(message.address, src, message.nbytes, part.pe), message.lines, epoch)
    elif message.way == LOCAL:
        put_lines(ctx, message.remote_address, message.address, message.lines, halo.me)
    else:
        wait(ctx, arrived_word(halo, part.own_number), epoch, part.pe)
        if message.way == PACKED:
            put_lines(ctx, message.address, src, message.lines, halo.me)


def next_epoch(halo: Halo, row: int) -> int:
    """The epoch of the next exchange of the part of a row."""
    return read_epoch(halo.epochs, row) + 1
