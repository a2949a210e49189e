"""Primitives of packets, data with the epoch inside, so that no signal has to follow it; and of multicast.

A part of ``block.py``.  A slot of n bytes holds ``packed_bytes(n)`` of data, and is only ever written as packets.
"""
# mypy: disable-error-code="empty-body"

from .primitive import primitives

PACKET_BYTES, PACKET_DATA_BYTES = 128, 120  # a packet, and what it carries beside its epoch
PACKETS_TOGETHER = 4  # packets that a warp writes at once
GROUP_DATA_BYTES = PACKETS_TOGETHER * PACKET_DATA_BYTES


def send_packets(ctx: int, slot: int, src: int, nbytes: int, epoch: int, pe: int) -> None:
    """Write local src (nbytes,) as packets of this epoch to ``slot`` on PE ``pe``."""


def receive_packets(ctx: int, dst: int, slot: int, nbytes: int, epoch: int, source: int) -> None:
    """dst (nbytes,) = the packets of this epoch in the local ``slot``, as they arrive."""


def receive_plus(ctx: int, dst: int, slot: int, residual: int, count: int, epoch: int, source: int) -> None:
    """``receive_packets`` of count elements, ``plus`` residual (count,)."""


def all_to_all_packets(
    ctx: int, out: int, out_stride: int, src: int, src_stride: int, slots: int, slot_bytes: int, nbytes: int,
    epoch: int, me: int, n_pes: int
) -> None:  # fmt: skip
    """``send_packets`` of row pe of src (rows src_stride bytes apart; 0: one row for all) to slot ``me`` on
    every PE pe, and ``receive_packets`` of what comes to row pe of out; row ``me`` of src to row ``me`` of out."""


def exchange_reduce_packets(
    ctx: int, out: int, slots: int, slot_bytes: int, src: int, count: int, epoch: int, scratch: int, me: int,
    n_pes: int, src_stride: int = 0, residual: int = 0
) -> None:  # fmt: skip
    """``send_packets`` of row pe of src (as above) to slot ``me`` on every PE pe, and ``combine_packets`` of
    what comes, in one: each thread adds up what it received while its next packets are under way.
    residual: as in ``combine``."""


def reduce_forward_packets(
    ctx: int, out: int, slots: int, reduced: int, slot_bytes: int, src: int, count: int, epoch: int, scratch: int,
    me: int, n_pes: int, residual: int = 0
) -> None:  # fmt: skip
    """``combine_packets`` to out, and ``send_packets`` of the result to slot ``me`` of ``reduced``
    on every PE, in one: each thread passes its part on as soon as it has added it up.
    To out, ``plus`` residual (count,) unless it is 0; out may be the residual."""


def combine_packets(
    ctx: int, out: int, slots: int, slot_bytes: int, src: int, count: int, epoch: int, scratch: int, me: int, n_pes: int
) -> None:
    """``combine``, with packets of this epoch in ``slots`` (n_pes, slot_bytes)."""


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
