"""Primitives of packets, data with the epoch inside, so that no signal has to follow it; and of multicast.

A part of ``block.py``.  A slot of n bytes holds ``packed_bytes(n)`` of data, and is only ever written as packets.
"""
# mypy: disable-error-code="empty-body"

from .primitive import primitives


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


# Numbers between blocks that run at the same time: each thread sends and takes packets for itself.
# A slot is 16 bytes, at a multiple of 16.


def marked(ctx: int, number: int) -> int:
    """The number to send packets of an exchange with: poisoned once this PE has given up."""


def send_number(slot: int, x: float, number: int) -> None:
    """Write the float64 ``x`` and the number of the exchange, as ``marked``, to a slot, of this PE or at a pointer to
    another.  A slot is written anew when what it held is known to have been taken."""


def all_sent() -> None:
    """What this thread has sent goes out before it does anything else, which a compiler might put first."""


def take_numbers(ctx: int, slots: tuple[int, ...], number: int, source: int) -> tuple[float, ...]:
    """The float64 of each of a tuple of slots (0: none, 0.0), once all are of this exchange.  source: as in ``wait``"""


def add_counted_sums(ctx: int, base: int, x: tuple[float, ...]) -> None:
    """``add_block_sums`` of the parts of one sum (``in_kernel/exact.py``), where each word also counts the blocks that
    have added to it, once each."""


def counted_sums(ctx: int, base: int, before: int, now: int, keep: int, n: int) -> tuple[float, float, float, float]:
    """What the first ``n`` of four sums at ``base`` have grown by since their words were those at ``before``, once all
    blocks of this PE have added to them; the same in all threads.

    Their words are left at ``now``; where keep is not 0, what the first sum's have grown by there.  It orders nothing
    else: a thread that returns may not see what other blocks wrote.
    """


# Multicast: one access reaches the instances of a symmetric object on all PEs.
# Addresses and bytes are multiples of 16.


def reduce_multicast(ctx: int, dst: int, src: int, count: int, scratch: int) -> None:
    """dst (count,) elements = op over all PEs of their src (count,), rounded once.
    scratch (count,) partials may be used."""


def store_multicast(ctx: int, dst: int, src: int, nbytes: int) -> None:
    """Write local src (nbytes,) to ``dst`` on all PEs."""


def meet_multicast(ctx: int, signal: int, value: int, n_pes: int) -> None:
    """Set the local word ``signal`` to ``value`` and wait until that word is at least ``value`` on every PE:
    a barrier, which also orders multicast and plain accesses to the same memory."""


primitives(globals())
