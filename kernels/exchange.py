"""Exchanges, from the plainest form to the fastest form: two PEs swap arrays.

Source: the Penny worklog, part 1.  In all forms a buffer holds a piece, dst may be src, and the epochs belong to this PE:

    dst (nbytes,) = src (nbytes,) of the peer, on both PEs
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from .block import (
    block,
    copy,
    fence,
    put,
    put_signal,
    receive_packets,
    send_packets,
    signal,
    stage_for_put,
    sync,
    wait,
    wait_all,
)
from .records import PE, Message, Work
from .slots import inbox_of, word, words
from .steps import fence_signal_all, load_counter, load_epoch, rounds, store_counter, store_epoch


def exchange_put_barrier(pe: PE, swap: Message, work: Work):
    """Put, then a barrier, after which every put has arrived.  A PE without a partner is its own partner.

    inbox   (max_blocks, 2 buffers)
    outbox  (max_blocks, 1 buffer): memory for ``stage_for_put``
    signals (max_blocks, 2, n_pes sources) words;  epochs (max_blocks,)
    """
    epoch = load_epoch(work)
    for start in rounds(swap.nbytes, work.buffer_bytes):
        epoch += 1
        # When a PE has all PEs' signals of epoch e+1, all have read epoch e: two buffers and sets of words suffice.
        slot, arrived = inbox_of(work, epoch), words(work, epoch, pe.n_pes)
        nbytes = min(work.buffer_bytes, swap.nbytes - start)
        piece = stage_for_put(pe.ctx, work.outbox + block() * work.buffer_bytes, swap.src + start, nbytes, swap.peer)
        put(pe.ctx, slot, piece, nbytes, swap.peer)
        fence_signal_all(pe, arrived, epoch)
        wait_all(pe.ctx, arrived, epoch, pe.me, pe.n_pes)
        copy(swap.dst + start, slot, nbytes)
    store_epoch(work, epoch)


def exchange_put_fence_signal(pe: PE, swap: Message, work: Work, max_blocks: int):
    """Put, then a signal between the two PEs, which the fence orders after the data.

    inbox   (n_pes sources, max_blocks, 2 buffers)
    outbox  (max_blocks, 1 buffer): memory for ``stage_for_put``
    signals (n_pes sources, max_blocks, 2) words;  epochs (n_pes, max_blocks)
    """
    from_me, from_peer = pe.me * max_blocks + block(), swap.peer * max_blocks + block()
    epoch = load_counter(work, work.epochs, from_peer)
    for start in rounds(swap.nbytes, work.buffer_bytes):
        epoch += 1
        # The peer sends for epoch e+1 after it has read epoch e: two buffers and two words suffice.
        peer_buffer, own_buffer = from_me * 2 + (epoch & 1), from_peer * 2 + (epoch & 1)
        nbytes = min(work.buffer_bytes, swap.nbytes - start)
        piece = stage_for_put(pe.ctx, work.outbox + block() * work.buffer_bytes, swap.src + start, nbytes, swap.peer)
        put(pe.ctx, work.inbox + peer_buffer * work.buffer_bytes, piece, nbytes, swap.peer)
        fence(pe.ctx)
        signal(pe.ctx, word(work.signals, peer_buffer), epoch, swap.peer)
        wait(pe.ctx, word(work.signals, own_buffer), epoch, swap.peer)
        copy(swap.dst + start, work.inbox + own_buffer * work.buffer_bytes, nbytes)
    store_counter(work, work.epochs, from_peer, epoch)


def exchange_put_signal(pe: PE, swap: Message, work: Work, max_blocks: int):
    """One put_signal for each message.  Arrays: as in ``exchange_put_fence_signal``"""
    from_me, from_peer = pe.me * max_blocks + block(), swap.peer * max_blocks + block()
    epoch = load_counter(work, work.epochs, from_peer)
    for start in rounds(swap.nbytes, work.buffer_bytes):
        epoch += 1
        # The peer sends for epoch e+1 after it has read epoch e: two buffers and two words suffice.
        peer_buffer, own_buffer = from_me * 2 + (epoch & 1), from_peer * 2 + (epoch & 1)
        nbytes = min(work.buffer_bytes, swap.nbytes - start)
        piece = stage_for_put(pe.ctx, work.outbox + block() * work.buffer_bytes, swap.src + start, nbytes, swap.peer)
        slot = work.inbox + peer_buffer * work.buffer_bytes
        put_signal(pe.ctx, Message(slot, piece, nbytes, swap.peer), word(work.signals, peer_buffer), epoch)
        wait(pe.ctx, word(work.signals, own_buffer), epoch, swap.peer)
        fence(pe.ctx)  # the peer's piece may arrive before this PE's piece has left src, which may be dst, or the outbox
        copy(swap.dst + start, work.inbox + own_buffer * work.buffer_bytes, nbytes)
    store_counter(work, work.epochs, from_peer, epoch)


def exchange_packets(pe: PE, swap: Message, work: Work, max_blocks: int, piece_bytes: int):
    """Packets, which carry their epoch.  piece_bytes: bytes of a message, which fit into a slot

    inbox  (n_pes sources, max_blocks, 2 buffers) slots of packets
    epochs (n_pes, max_blocks)
    """
    from_me, from_peer = pe.me * max_blocks + block(), swap.peer * max_blocks + block()
    epoch = load_counter(work, work.epochs, from_peer)
    for start in rounds(swap.nbytes, piece_bytes):
        epoch += 1
        # The peer sends for epoch e+1 after it has received epoch e: two buffers suffice.
        peer_buffer, own_buffer = from_me * 2 + (epoch & 1), from_peer * 2 + (epoch & 1)
        nbytes = min(piece_bytes, swap.nbytes - start)
        slot = work.inbox + peer_buffer * work.buffer_bytes
        send_packets(pe.ctx, Message(slot, swap.src + start, nbytes, swap.peer), epoch)
        sync()  # dst may be src
        own_slot = work.inbox + own_buffer * work.buffer_bytes
        receive_packets(pe.ctx, Message(swap.dst + start, own_slot, nbytes, swap.peer), epoch)
    store_counter(work, work.epochs, from_peer, epoch)


@dataclass(frozen=True)
class Form:
    """A form of exchange.  collective: True if all PEs of the team must call it"""

    name: str
    sentence: str
    kernel: Callable[..., Any]
    collective: bool


_FORMS = (
    Form("put_barrier", "put, then a barrier of all PEs", exchange_put_barrier, True),
    Form("put_fence_signal", "put, fence, then a signal to the partner", exchange_put_fence_signal, False),
    Form("put_signal", "one fused put_signal a message, one waiting thread", exchange_put_signal, False),
    Form("packets", "packets, which carry their epoch, where they can go; else put_signal", exchange_packets, False),
)
TABLE = {form.name: form for form in _FORMS}
