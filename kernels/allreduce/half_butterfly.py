"""Half butterfly: whole vectors among the PEs of one half, then one swap with the other half; two latency steps.

Source: the third algorithm of vLLM pull request 2192, for GPUs on PCIe, where messages between all of them starve the
links.  Here messages are pushed.  If n is odd the lower half has one PE more, which the last PE serves.

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
from ..steps import after, first_round, piece_inside, store_epoch


class Half(NamedTuple):
    """The half of the PEs that this PE belongs to.

    start, n: its PEs are start, ..., start + n - 1;  rank: of this PE among them;  lower: PEs of the lower half
    """

    start: int
    n: int
    rank: int
    lower: int


class Round(NamedTuple):
    """Where a block's messages of an epoch are.

    slots:  (lower + 1,) in the inbox: a slot for each PE of this half, and one for the other half
    staged: this PE's elements;  part: the partial of this half;  both in the outbox
    words:  (lower + 1,), one a slot
    """

    epoch: int
    slots: Slots
    staged: int
    part: int
    words: int


def half_of(pe: PE) -> Half:
    """If n_pes is odd the lower half has one PE more."""
    lower = (pe.n_pes + 1) // 2
    if pe.me < lower:
        return Half(0, lower, pe.me, lower)
    return Half(lower, pe.n_pes - lower, pe.me - lower, lower)


def round_of(call: Reduction, work: Work, half: Half, epoch: int) -> Round:
    """A PE that sends to another PE has the other's message of epoch e+1, or that of a partner that has it: two buffers
    are enough, and two sets of words."""
    slots = Slots(inbox_of(work, epoch), call.piece_elems * call.acc_bytes)
    staged = outbox_of(work, epoch)
    return Round(epoch, slots, staged, staged + slots.nbytes, words(work, epoch, half.lower + 1))


def add_half(pe: PE, call: Reduction, half: Half, own: Piece, now: Round):
    """Elements to every PE of the half, and those of all added up in the PEs' order."""
    if half.n > 1:
        copy(now.staged, own.src, own.nbytes)
    for k in range(1, half.n):
        partner = half.start + after(half.rank, k, half.n)
        there, arrived = slot_at(now.slots, half.rank), word(now.words, half.rank)
        put_signal(pe.ctx, Message(there, now.staged, own.nbytes, partner), arrived, now.epoch)
    for rank in range(half.n):
        elements = own.src
        if rank != half.rank:
            wait(pe.ctx, word(now.words, rank), now.epoch, half.start + rank)
            elements = slot_at(now.slots, rank)
        if rank == 0:
            to_partials(pe.ctx, now.part, elements, own.n_elems)
        else:
            reduce(pe.ctx, now.part, now.part, elements, own.n_elems)


def cross(pe: PE, call: Reduction, half: Half, own: Piece, now: Round):
    """The partial to the partner in the other half, and merged with its partial."""
    upper = pe.me >= half.lower
    partner = pe.me - half.lower if upper else min(pe.me + half.lower, pe.n_pes - 1)  # sends its partial to this PE
    partner_end = partner + 1  # PEs partner, ..., partner_end - 1 get this PE's
    if half.lower > pe.n_pes - half.lower:  # n_pes is odd: the lower half's last is served by the last PE, and sends none
        partner_end += (pe.me == pe.n_pes - 1) - (pe.me == half.lower - 1)
    theirs, crossed = slot_at(now.slots, half.lower), word(now.words, half.lower)
    for to in range(partner, partner_end):
        put_signal(pe.ctx, Message(theirs, now.part, own.n_elems * call.acc_bytes, to), crossed, now.epoch)
    wait(pe.ctx, crossed, now.epoch, partner)
    one, other = (theirs, now.part) if upper else (now.part, theirs)
    reduce_partials_and_round(pe.ctx, own.out, one, other, own.n_elems)


def half_butterfly(pe: PE, call: Reduction, work: Work):
    """out (n_elems,) = op over all PEs of src (n_elems,); out may be src.

    inbox   (blocks, 2 buffers), a buffer holds h + 1 slots of piece_elems: the own half's, the other's
    outbox  (blocks, 2 buffers): own elements, then the partial of this half
    signals (blocks, 2, h + 1) words, one a slot
    """
    half = half_of(pe)
    epoch, start, stride = first_round(work, call.piece_elems)
    while start < call.n_elems:
        epoch += 1
        now, own = round_of(call, work, half, epoch), piece_inside(call, start)
        add_half(pe, call, half, own, now)
        cross(pe, call, half, own, now)
        start += stride
    store_epoch(work, epoch)


def cost_us(size: Size, topology: Topology, machine: Machine) -> float:
    """Everything to a half of the PEs, then a partial to the PE across."""
    n, largest, several = topology.n_pes, topology.largest_node, topology.n_nodes > 1
    half = (n + 1) // 2
    return machine.call_us(Counts(
        rounds=size.rounds(1), near_steps=2 - several - (half > largest), net_steps=several + (half > largest),
        messages=half, sent=(min(half, largest) - 1 + size.widening * (not several)) * size.nbytes,
        nic=(max(half - largest, 0) + size.widening) * several * size.nbytes * largest / topology.n_rails,
        moved=size.nbytes, added=half * size.nbytes,
    ))  # fmt: skip


ALGORITHM = Algorithm(
    half_butterfly,
    slots_plan,
    slots=lambda topology, limits: (topology.n_pes + 1) // 2 + 1,
    holds=PARTIALS,
    cost_us=cost_us,
)
