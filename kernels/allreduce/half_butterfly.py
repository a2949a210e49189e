"""Half butterfly: whole vectors among the PEs of one half, then one swap with the other half; two latency steps.

Source: the third algorithm of vLLM pull request 2192, for GPUs on PCIe, where messages between all PEs starve the links.
This version pushes messages.  If n is odd, the lower half has one PE more, which gets the upper half's partial from
the last PE.

All PEs have the same bits: a half adds its vectors in the PEs' order, and every PE adds the lower half's partial and the
upper half's, in this order.
"""

from typing import NamedTuple

from ..algorithm import PARTIALS, Algorithm, Topology
from ..block import copy, put_signal, reduce, reduce_partials_and_round, to_partials, wait
from ..cost import Counts, Machine, Size
from ..plans import slots_plan
from ..records import PE, Message, Piece, Reduction, Slots, Work
from ..slots import inbox_of, outbox_of, slot_at, word, words
from ..steps import first_round, piece_inside, rank_after, store_epoch


class Half(NamedTuple):
    """The half of the PEs that this PE belongs to.

    start, n: its PEs are start, ..., start + n - 1;  rank: index of this PE among them;  lower: PEs of the lower half
    """

    start: int
    n: int
    rank: int
    lower: int


class SwapBuffers(NamedTuple):
    """The memory of a block's epoch.

    slots:        slots of the inbox, (lower + 1,): one for each PE of this half, and one for the other half
    staged, part: addresses of this PE's elements, and of the partial of this half, in the outbox
    words:        address of (lower + 1,) signals, one for each slot
    """

    epoch: int
    slots: Slots
    staged: int
    part: int
    words: int


def half_of(pe: PE) -> Half:
    """The half of this PE.  If n_pes is odd, the lower half has one PE more."""
    lower = (pe.n_pes + 1) // 2
    if pe.me < lower:
        return Half(0, lower, pe.me, lower)
    return Half(lower, pe.n_pes - lower, pe.me - lower, lower)


def buffers_of(call: Reduction, work: Work, half: Half, epoch: int) -> SwapBuffers:
    """The memory of an epoch.  Before a PE sends for e+2 it has received, directly or through its partner, a message of
    e+1 from the receiver: two buffers and two sets of words suffice."""
    slots = Slots(inbox_of(work, epoch), call.piece_elems * call.acc_bytes)
    staged = outbox_of(work, epoch)
    return SwapBuffers(epoch, slots, staged, staged + slots.nbytes, words(work, epoch, half.lower + 1))


def add_half(pe: PE, half: Half, own: Piece, buffers: SwapBuffers):
    """Put this PE's elements to every PE of the half, and add up the elements of all PEs of the half in their order."""
    if half.n > 1:
        copy(buffers.staged, own.src, own.nbytes)
    for k in range(1, half.n):
        partner = half.start + rank_after(half.rank, k, half.n)
        slot, arrived = slot_at(buffers.slots, half.rank), word(buffers.words, half.rank)
        put_signal(pe.ctx, Message(slot, buffers.staged, own.nbytes, partner), arrived, buffers.epoch)
    for rank in range(half.n):
        elements = own.src
        if rank != half.rank:
            wait(pe.ctx, word(buffers.words, rank), buffers.epoch, half.start + rank)
            elements = slot_at(buffers.slots, rank)
        if rank == 0:
            to_partials(pe.ctx, buffers.part, elements, own.n_elems)
        else:
            reduce(pe.ctx, buffers.part, buffers.part, elements, own.n_elems)


def cross(pe: PE, call: Reduction, half: Half, own: Piece, buffers: SwapBuffers):
    """Put the partial to the partner in the other half, and add the two partials."""
    upper = pe.me >= half.lower
    # The partner sends this PE the other half's partial; PEs partner, ..., partner_end - 1 get this PE's partial.
    partner = pe.me - half.lower if upper else min(pe.me + half.lower, pe.n_pes - 1)
    partner_end = partner + 1
    # If n_pes is odd, the last PE sends to the lower half's last PE, too, which sends to no PE.
    if half.lower > pe.n_pes - half.lower:
        partner_end += (pe.me == pe.n_pes - 1) - (pe.me == half.lower - 1)
    received, crossed = slot_at(buffers.slots, half.lower), word(buffers.words, half.lower)
    for to in range(partner, partner_end):
        put_signal(pe.ctx, Message(received, buffers.part, own.n_elems * call.acc_bytes, to), crossed, buffers.epoch)
    wait(pe.ctx, crossed, buffers.epoch, partner)
    left, right = (received, buffers.part) if upper else (buffers.part, received)
    reduce_partials_and_round(pe.ctx, own.out, left, right, own.n_elems)


def half_butterfly(pe: PE, call: Reduction, work: Work):
    """out (n_elems,) = op over all PEs of src (n_elems,); out may be src.

    inbox   (blocks, 2 buffers), a buffer holds h + 1 slots of piece_elems partials: h PEs of this half, the other half
    outbox  (blocks, 2 buffers): this PE's elements, then the partial of this half
    signals (blocks, 2, h + 1) words, one for each slot
    """
    half = half_of(pe)
    epoch, start, stride = first_round(work, call.piece_elems)
    while start < call.n_elems:
        epoch += 1
        buffers, own = buffers_of(call, work, half, epoch), piece_inside(call, start)
        add_half(pe, half, own, buffers)
        cross(pe, call, half, own, buffers)
        start += stride
    store_epoch(work, epoch)


def cost_us(size: Size, topology: Topology, machine: Machine) -> float:
    """The whole vector to a half of the PEs, then a partial to a PE of the other half."""
    n, largest, is_split = topology.n_pes, topology.largest_node, topology.n_nodes > 1
    half = (n + 1) // 2
    return machine.call_us(Counts(
        rounds=size.rounds(1), near_steps=2 - is_split - (half > largest), net_steps=is_split + (half > largest),
        messages=half, sent=(min(half, largest) - 1 + size.widening * (not is_split)) * size.nbytes,
        nic=(max(half - largest, 0) + size.widening) * is_split * size.nbytes * largest / topology.n_rails,
        moved=size.nbytes, added=half * size.nbytes,
    ))  # fmt: skip


ALGORITHM = Algorithm(
    half_butterfly,
    slots_plan,
    slots=lambda topology, limits: (topology.n_pes + 1) // 2 + 1,
    holds=PARTIALS,
    cost_us=cost_us,
)
