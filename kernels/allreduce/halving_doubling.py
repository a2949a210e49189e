"""Halving and doubling: half of the part to the PE at distance n/2, n/4, ..., and back; 2 log2 n latency steps.

Source: Rabenseifner, "Optimization of collective reduction operations" (2004); the "butterfly" of vLLM pull request 2192.
In each of the first log2 n steps two partners split the part that both hold: each sends one half and adds up the other.
All PEs have the same bits: one PE completes each chunk, and all others copy it.
"""

import math
from typing import NamedTuple

from ..algorithm import PARTIALS, Algorithm, Topology
from ..block import copy, put_signal, reduce, reduce_partials, reduce_partials_and_round, to_partials, wait
from ..cost import Counts, Machine, Size
from ..folding import Folded, folded, in_pair, log2, old_rank, pof2, sits_out
from ..plans import slots_plan
from ..records import PE, Message, Reduction, Work
from ..slots import inbox_of, outbox_of, word, words
from ..steps import first_round, store_epoch


class HalvingBuffers(NamedTuple):
    """The memory of a block's round, which has n_elems elements in p pieces.

    received: address of p pieces of partials from the PE that sits out, then of p pieces from partners: those from
              distance d begin at piece d
    parts:    address of p pieces of partials, in the outbox;  result: address of p pieces of elements
    words:    address of (2 + 2 log2 p,) signals: fold, then one for each step, then unfold
    """

    epoch: int
    n_elems: int
    received: int
    parts: int
    result: int
    words: int


class Span(NamedTuple):
    """n elements of a round, which begin at element ``start``."""

    start: int
    n: int


def span_of(call: Reduction, buffers: HalvingBuffers, rank: int, distance: int) -> Span:
    """The elements of the group that piece ``rank`` belongs to, in groups of ``distance`` pieces."""
    start = (rank & -distance) * call.piece_elems
    return Span(start, max(0, min(distance * call.piece_elems, buffers.n_elems - start)))


def halve(pe: PE, call: Reduction, fold: Folded, buffers: HalvingBuffers):
    """At distance d a PE keeps the d pieces of its own group, and sends the d pieces of its partner's group."""
    distance, step = fold.p // 2, 1
    while distance > 0:
        partner = old_rank(fold.rank ^ distance, fold.rem)
        keep_span = span_of(call, buffers, fold.rank, distance)
        give_span = span_of(call, buffers, fold.rank ^ distance, distance)
        kept, sent = buffers.parts + keep_span.start * call.acc_bytes, buffers.parts + give_span.start * call.acc_bytes
        slot = buffers.received + (fold.p + distance) * call.piece_elems * call.acc_bytes
        message = Message(slot, sent, give_span.n * call.acc_bytes, partner)
        put_signal(pe.ctx, message, word(buffers.words, step), buffers.epoch)
        wait(pe.ctx, word(buffers.words, step), buffers.epoch, partner)
        if distance > 1:
            reduce_partials(pe.ctx, kept, kept, slot, keep_span.n)
        else:
            reduce_partials_and_round(pe.ctx, buffers.result + keep_span.start * call.item_bytes, kept, slot, keep_span.n)
        distance, step = distance // 2, step + 1


def double(pe: PE, call: Reduction, fold: Folded, buffers: HalvingBuffers):
    """Send finished pieces to the same partners in reverse order, each piece to its own address."""
    distance, step = 1, 1 + log2(fold.p)
    while distance < fold.p:
        partner = old_rank(fold.rank ^ distance, fold.rem)
        held = span_of(call, buffers, fold.rank, distance)
        address = buffers.result + held.start * call.item_bytes
        message = Message(address, address, held.n * call.item_bytes, partner)
        put_signal(pe.ctx, message, word(buffers.words, step), buffers.epoch)
        wait(pe.ctx, word(buffers.words, step), buffers.epoch, partner)
        distance, step = 2 * distance, step + 1


def halving_doubling(pe: PE, call: Reduction, work: Work):
    """out (n_elems,) = op over all PEs of src (n_elems,); out may be src.  A piece is the chunk of one of p PEs.

    inbox   (blocks, 2 buffers), a buffer holds (fold, halving, result) of p pieces of partials each
    outbox  (blocks, 2 buffers), a buffer holds p pieces of partials
    signals (blocks, 2, 2 + 2 log2 p) words
    """
    fold = folded(pe)
    unfold = 1 + 2 * log2(fold.p)
    round_elems = fold.p * call.piece_elems
    epoch, start, stride = first_round(work, round_elems)
    while start < call.n_elems:
        epoch += 1
        # A partner sends for epoch e+1 after it has read this PE's message of e: two buffers and sets of words suffice.
        received, parts = inbox_of(work, epoch), outbox_of(work, epoch)
        result, arrived = received + 2 * round_elems * call.acc_bytes, words(work, epoch, unfold + 1)
        n = min(round_elems, call.n_elems - start)
        buffers = HalvingBuffers(epoch, n, received, parts, result, arrived)
        src, nbytes = call.src + start * call.item_bytes, n * call.item_bytes
        if sits_out(pe, fold):
            copy(parts, src, nbytes)
            put_signal(pe.ctx, Message(received, parts, nbytes, pe.me + 1), arrived, epoch)
            wait(pe.ctx, word(arrived, unfold), epoch, pe.me + 1)
        else:
            to_partials(pe.ctx, parts, src, n)
            if in_pair(pe, fold):
                wait(pe.ctx, arrived, epoch, pe.me - 1)
                reduce(pe.ctx, parts, parts, received, n)
            halve(pe, call, fold, buffers)
            double(pe, call, fold, buffers)
            if in_pair(pe, fold):
                put_signal(pe.ctx, Message(result, result, nbytes, pe.me - 1), word(arrived, unfold), epoch)
        copy(call.out + start * call.item_bytes, result, nbytes)
        start += stride
    store_epoch(work, epoch)


def cost_us(size: Size, topology: Topology, machine: Machine) -> float:
    """log2(p) halvings and as many doublings among p PEs; a PE that sits out sends and gets a whole vector."""
    n, n_nodes, power = topology.n_pes, topology.n_nodes, pof2(topology.n_pes)
    folds = power < n
    node_steps, net_steps = math.log2(max(1, power / n_nodes)), math.log2(min(power, n_nodes))
    return machine.call_us(Counts(
        rounds=size.rounds(power), near_steps=2 * node_steps + 2 * folds, net_steps=2 * net_steps,
        messages=2 * math.log2(power) + folds,
        sent=(1 + size.widening) * max(0, 1 / n_nodes - 1 / power) * size.nbytes + 2 * size.nbytes * folds,
        nic=(1 + size.widening) * (1 - 1 / n_nodes) * size.nbytes * topology.largest_node / topology.n_rails,
        moved=2 * size.nbytes, added=(power - 1) / power * size.nbytes + size.nbytes * folds,
    ))  # fmt: skip


ALGORITHM = Algorithm(
    halving_doubling, slots_plan, slots=lambda topology, limits: 3 * pof2(topology.n_pes), holds=PARTIALS,
    signals=lambda topology: 2 * (2 + 2 * log2(pof2(topology.n_pes))), shares=lambda topology: pof2(topology.n_pes),
    cost_us=cost_us,
)  # fmt: skip
