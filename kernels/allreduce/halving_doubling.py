"""Halving and doubling: half of the rest to the PE at distance n/2, n/4, ..., and back; 2 log2 n latency steps.

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


class Round(NamedTuple):
    """A round of a block: n_elems elements, p pieces.

    given:  p pieces of partials from the pair, then p pieces that come in while halving: those of distance d at piece d
    parts:  p pieces of partials, in the outbox;  result: p pieces of elements
    words:  (2 + 2 log2 p,): fold, then one a step, then unfold
    """

    epoch: int
    n_elems: int
    given: int
    parts: int
    result: int
    words: int


class Part(NamedTuple):
    """n elements of a round, from element ``start`` on."""

    start: int
    n: int


def group_of(call: Reduction, now: Round, rank: int, distance: int) -> Part:
    """Of the round's pieces, in groups of ``distance``, the group that piece ``rank`` belongs to."""
    start = (rank & -distance) * call.piece_elems
    return Part(start, max(0, min(distance * call.piece_elems, now.n_elems - start)))


def halve(pe: PE, call: Reduction, fold: Folded, now: Round):
    """At distance d a PE keeps the d pieces around its own, and gives the partner's d away."""
    distance, step = fold.p // 2, 1
    while distance > 0:
        partner = old_rank(fold.rank ^ distance, fold.rem)
        keep, give = group_of(call, now, fold.rank, distance), group_of(call, now, fold.rank ^ distance, distance)
        mine, given_away = now.parts + keep.start * call.acc_bytes, now.parts + give.start * call.acc_bytes
        theirs = now.given + (fold.p + distance) * call.piece_elems * call.acc_bytes
        message = Message(theirs, given_away, give.n * call.acc_bytes, partner)
        put_signal(pe.ctx, message, word(now.words, step), now.epoch)
        wait(pe.ctx, word(now.words, step), now.epoch, partner)
        if distance > 1:
            reduce_partials(pe.ctx, mine, mine, theirs, keep.n)
        else:
            reduce_partials_and_round(pe.ctx, now.result + keep.start * call.item_bytes, mine, theirs, keep.n)
        distance, step = distance // 2, step + 1


def double(pe: PE, call: Reduction, fold: Folded, now: Round):
    """The same partners in the other order, and the finished pieces stay where they belong."""
    distance, step = 1, 1 + log2(fold.p)
    while distance < fold.p:
        partner = old_rank(fold.rank ^ distance, fold.rem)
        have = group_of(call, now, fold.rank, distance)
        at = now.result + have.start * call.item_bytes
        put_signal(pe.ctx, Message(at, at, have.n * call.item_bytes, partner), word(now.words, step), now.epoch)
        wait(pe.ctx, word(now.words, step), now.epoch, partner)
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
        # A partner's message of epoch e+1 proves that it has read mine of epoch e: two buffers are enough, and two sets
        # of words.
        given, parts = inbox_of(work, epoch), outbox_of(work, epoch)
        result, arrived = given + 2 * round_elems * call.acc_bytes, words(work, epoch, unfold + 1)
        n = min(round_elems, call.n_elems - start)
        now = Round(epoch, n, given, parts, result, arrived)
        src, nbytes = call.src + start * call.item_bytes, n * call.item_bytes
        if sits_out(pe, fold):
            copy(parts, src, nbytes)
            put_signal(pe.ctx, Message(given, parts, nbytes, pe.me + 1), arrived, epoch)
            wait(pe.ctx, word(arrived, unfold), epoch, pe.me + 1)
        else:
            to_partials(pe.ctx, parts, src, n)
            if in_pair(pe, fold):
                wait(pe.ctx, arrived, epoch, pe.me - 1)
                reduce(pe.ctx, parts, parts, given, n)
            halve(pe, call, fold, now)
            double(pe, call, fold, now)
            if in_pair(pe, fold):
                put_signal(pe.ctx, Message(result, result, nbytes, pe.me - 1), word(arrived, unfold), epoch)
        copy(call.out + start * call.item_bytes, result, nbytes)
        start += stride
    store_epoch(work, epoch)


def cost_us(size: Size, topology: Topology, machine: Machine) -> float:
    """log2(n) halvings and as many doublings of a power of two of PEs; the others give and get a whole vector."""
    n, n_nodes, power = topology.n_pes, topology.n_nodes, pof2(topology.n_pes)
    folds = power < n
    near, far = math.log2(max(1, power / n_nodes)), math.log2(min(power, n_nodes))
    return machine.call_us(Counts(
        rounds=size.rounds(power), near_steps=2 * near + 2 * folds, net_steps=2 * far,
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
