"""Recursive doubling: PEs at distance 1, 2, 4, ... exchange whole vectors; log2 n latency steps.

Source: Thakur, Rabenseifner and Gropp, "Optimization of collective communication operations in MPICH" (2005).  For small
vectors where a latency step is expensive, as between nodes.  The two partners of a step add the same two partials in the
same order, the lower PE's first, so that all PEs that hold the same sum hold the same bits.
"""

import math

from ..algorithm import PARTIALS, Algorithm, Topology
from ..block import copy, put_signal, reduce, reduce_partials, reduce_partials_and_round, to_partials, wait
from ..cost import Counts, Machine, Size
from ..folding import folded, in_pair, log2, old_rank, pof2, sits_out
from ..plans import slots_plan
from ..records import PE, Message, Reduction, Slots, Work
from ..slots import inbox_of, outbox_of, slot_at, word, words
from ..steps import first_round, piece_inside, store_epoch


def recursive_doubling(pe: PE, call: Reduction, work: Work):
    """out (n_elems,) = op over all PEs of src (n_elems,); out may be src.

    inbox, outbox (blocks, 2 buffers), a buffer holds (fold, log2 p latency steps, unfold) slots of piece_elems partials
    signals       (blocks, 2, 2 + log2 p) words, one for each slot
    """
    fold = folded(pe)
    unfold = 1 + log2(fold.p)
    epoch, start, stride = first_round(work, call.piece_elems)
    while start < call.n_elems:
        epoch += 1
        # A partner sends for epoch e+1 after it has read this PE's message of e: two buffers and sets of words suffice.
        inbox = Slots(inbox_of(work, epoch), call.piece_elems * call.acc_bytes)
        outbox = Slots(outbox_of(work, epoch), inbox.nbytes)
        arrived = words(work, epoch, unfold + 1)
        own = piece_inside(call, start)
        out, src, n, nbytes = own.out, own.src, own.n_elems, own.nbytes
        if sits_out(pe, fold):
            copy(outbox.address, src, nbytes)
            put_signal(pe.ctx, Message(inbox.address, outbox.address, nbytes, pe.me + 1), arrived, epoch)
            wait(pe.ctx, word(arrived, unfold), epoch, pe.me + 1)
            copy(out, slot_at(inbox, unfold), nbytes)
        else:
            result = out
            to_partials(pe.ctx, outbox.address, src, n)
            if in_pair(pe, fold):
                wait(pe.ctx, arrived, epoch, pe.me - 1)
                reduce(pe.ctx, outbox.address, outbox.address, inbox.address, n)
                result = slot_at(outbox, unfold)
            for step in range(1, unfold):
                distance = 1 << (step - 1)
                partner = old_rank(fold.rank ^ distance, fold.rem)
                sent, received = slot_at(outbox, step - 1), slot_at(inbox, step)
                put_signal(pe.ctx, Message(received, sent, n * call.acc_bytes, partner), word(arrived, step), epoch)
                wait(pe.ctx, word(arrived, step), epoch, partner)
                left, right = (received, sent) if fold.rank & distance else (sent, received)
                if step < unfold - 1:
                    reduce_partials(pe.ctx, slot_at(outbox, step), left, right, n)
                else:
                    reduce_partials_and_round(pe.ctx, result, left, right, n)
            if in_pair(pe, fold):
                message = Message(slot_at(inbox, unfold), result, nbytes, pe.me - 1)
                put_signal(pe.ctx, message, word(arrived, unfold), epoch)
                copy(out, result, nbytes)
        start += stride
    store_epoch(work, epoch)


def cost_us(size: Size, topology: Topology, machine: Machine) -> float:
    """log2(p) exchanges of the whole vector as partials; a PE that sits out sends and gets the vector."""
    n, n_nodes, power = topology.n_pes, topology.n_nodes, pof2(topology.n_pes)
    folds = power < n
    node_steps, net_steps = math.log2(max(1, power / n_nodes)), math.log2(min(power, n_nodes))
    return machine.call_us(Counts(
        rounds=size.rounds(1), near_steps=node_steps + 2 * folds, net_steps=net_steps, messages=math.log2(power) + folds,
        sent=size.widening * node_steps * size.nbytes + 2 * size.nbytes * folds,
        nic=size.widening * net_steps * size.nbytes * topology.largest_node / topology.n_rails, moved=size.nbytes,
        added=math.log2(power) * size.nbytes + size.nbytes * folds,
    ))  # fmt: skip


ALGORITHM = Algorithm(
    recursive_doubling,
    slots_plan,
    slots=lambda topology, limits: 2 + log2(pof2(topology.n_pes)),
    holds=PARTIALS,
    cost_us=cost_us,
)
