"""Primitives of packets, which carry their epoch, so that no signal follows the data; and of multicast.

A part of ``block.py``.  A slot of n bytes holds ``packed_bytes(n)`` of data, and all writes to it are packets.
"""
# mypy: disable-error-code="empty-body"

from .primitive import primitives
from .records import PE, Lines, Message, PacketRows, Packets, Piece

PACKET_BYTES, PACKET_DATA_BYTES = 128, 120  # bytes of a packet, and of its data
PACKETS_TOGETHER = 4  # packets that a warp writes at once: a group
GROUP_BYTES, GROUP_DATA_BYTES = PACKETS_TOGETHER * PACKET_BYTES, PACKETS_TOGETHER * PACKET_DATA_BYTES


def send_packets(ctx: int, message: Message, epoch: int) -> None:
    """Write local src (nbytes,) as packets of this epoch to the slot ``message.dst`` on the peer."""


def receive_packets(ctx: int, message: Message, epoch: int) -> None:
    """dst (nbytes,) = the peer's packets of this epoch in the local slot ``message.src``, as they arrive."""


def send_lines(ctx: int, message: Message, lines: Lines, epoch: int) -> None:
    """Send groups ``lines.first`` to ``lines.stop - 1`` of the packets of a box.  The lines of the box, at local
    ``message.src``, follow one another in the slot, ``message.nbytes`` in all."""


def receive_lines(ctx: int, message: Message, lines: Lines, epoch: int) -> None:
    """Receive groups ``lines.first`` to ``lines.stop - 1`` of the packets of a box to its lines at ``message.dst``."""


def receive_plus(ctx: int, piece: Piece, slot: int, epoch: int, source: int) -> None:
    """``receive_packets`` to piece.out, ``plus`` piece.residual."""


def all_to_all_packets(pe: PE, rows: PacketRows, incoming: Packets) -> None:
    """``send_packets`` of row p of src to slot ``me`` on PE p, and ``receive_packets`` from PE p to row p of out; row
    ``me`` of src is copied to row ``me`` of out."""


def exchange_reduce_packets(pe: PE, piece: Piece, src_stride: int, incoming: Packets, scratch: int) -> None:
    """``send_packets`` of each PE's row of piece.src to slot ``me`` on that PE, and ``combine_packets``, in one pass:
    each thread adds up received packets while its next packets are under way.  src_stride: bytes from a row to the
    next row, or ONE_ROW"""


def reduce_forward_packets(pe: PE, piece: Piece, incoming: Packets, reduced: int, scratch: int) -> None:
    """``combine_packets``, and ``send_packets`` of the result to slot ``me`` of ``reduced`` on every PE, in one pass:
    each thread sends its part as soon as it has added it up.  Then ``plus`` piece.residual, unless it is 0, to
    piece.out, which may be the residual.  reduced: address of slots as large as the incoming slots"""


def combine_packets(pe: PE, piece: Piece, incoming: Packets, scratch: int) -> None:
    """``combine``, with packets in the slots."""


# Multicast: one access reaches the instances of a symmetric object on all PEs.  Addresses and sizes in bytes are
# multiples of 16.


def reduce_multicast(ctx: int, dst: int, src: int, count: int, scratch: int) -> None:
    """dst (count,) elements = op over all PEs of their src (count,), rounded once.
    scratch: memory for (count,) partials"""


def store_multicast(ctx: int, dst: int, src: int, nbytes: int) -> None:
    """Write local src (nbytes,) to ``dst`` on all PEs."""


def meet_multicast(ctx: int, signal: int, value: int, n_pes: int) -> None:
    """Set the local word ``signal`` to ``value``, and wait until this word is at least ``value`` on every PE: a barrier,
    which also orders multicast accesses and plain accesses to the same memory."""


primitives(globals())
