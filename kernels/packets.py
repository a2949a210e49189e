"""Primitives of packets, data with the epoch inside, so that no signal has to follow it; and of multicast.

A part of ``block.py``.  A slot of n bytes holds ``packed_bytes(n)`` of data, and is only ever written as packets.
"""
# mypy: disable-error-code="empty-body"

from .primitive import primitives
from .records import PE, Message, PacketRows, Packets, Piece

PACKET_BYTES, PACKET_DATA_BYTES = 128, 120  # a packet, and what it carries beside its epoch
PACKETS_TOGETHER = 4  # packets that a warp writes at once
GROUP_DATA_BYTES = PACKETS_TOGETHER * PACKET_DATA_BYTES


def send_packets(ctx: int, message: Message, epoch: int) -> None:
    """Write local src (nbytes,) as packets of this epoch to the slot ``message.dst`` on the peer."""


def receive_packets(ctx: int, message: Message, epoch: int) -> None:
    """dst (nbytes,) = the peer's packets of this epoch in the local slot ``message.src``, as they arrive."""


def receive_plus(ctx: int, piece: Piece, slot: int, epoch: int, source: int) -> None:
    """``receive_packets`` to piece.out, ``plus`` piece.residual."""


def all_to_all_packets(pe: PE, rows: PacketRows, incoming: Packets) -> None:
    """``send_packets`` of each PE's row of src to slot ``me`` on that PE, and ``receive_packets`` of what comes from a PE
    to its row of out; row ``me`` of src to row ``me`` of out."""


def exchange_reduce_packets(pe: PE, piece: Piece, src_stride: int, incoming: Packets, scratch: int) -> None:
    """``send_packets`` of each PE's row of piece.src, ``src_stride`` bytes apart or ONE_ROW, to slot ``me`` on that PE,
    and ``combine_packets`` of what comes, in one: each thread adds up what it received while its next packets are under
    way."""


def reduce_forward_packets(pe: PE, piece: Piece, incoming: Packets, reduced: int, scratch: int) -> None:
    """``combine_packets`` to piece.out without the residual, and ``send_packets`` of the result to slot ``me`` of
    ``reduced`` on every PE, in one: each thread passes its part on as soon as it has added it up.
    To piece.out, ``plus`` piece.residual unless it is 0; out may be the residual.  reduced: address of slots as large."""


def combine_packets(pe: PE, piece: Piece, incoming: Packets, scratch: int) -> None:
    """``combine``, with packets in the slots."""


# Multicast: one access reaches the instances of a symmetric object on all PEs.
# Addresses and bytes are multiples of 16.


def reduce_multicast(ctx: int, dst: int, src: int, count: int, scratch: int) -> None:
    """dst (count,) elements = op over all PEs of their src (count,), rounded once.
    scratch (count,) partials may be used."""


def store_multicast(ctx: int, dst: int, src: int, nbytes: int) -> None:
    """Write local src (nbytes,) to ``dst`` on all PEs."""


def meet_multicast(ctx: int, signal: int, value: int, n_pes: int) -> None:
    """Set the local word ``signal`` to ``value``, and wait until this word is at least ``value`` on every PE:
    a barrier, which also orders multicast and plain accesses to the same memory."""


primitives(globals())
