"""Simple-ring AllReduce: the whole vector once down the ring and its sum once round again; two messages a PE.

Source: the Penny worklog, part 1 ("Simple ring kernel").  PE 0 starts, every PE adds its own part, the last PE completes
the sum.  Every byte crosses every link, one link after the other.
"""

from ..algorithm import PARTIALS, Algorithm, Topology
from ..block import copy, put_signal, reduce, reduce_and_round, to_partials, wait
from ..cost import Counts, Machine, Size
from ..plans import slots_plan
from ..records import PE, Message, Reduction, Work
from ..slots import buffer, word, words
from ..steps import load_epoch, neighbours, piece_inside, rounds, store_epoch


def simple_ring(pe: PE, call: Reduction, work: Work):
    """out (n_elems,) = op over all PEs of src (n_elems,); out may be src.

    inbox, outbox (blocks, 2 buffers), a buffer holds (2 legs, piece_elems) partials
    signals       (blocks, 2, 2 legs) words
    """
    succ, pred = neighbours(pe)
    epoch = load_epoch(work)
    for start in rounds(call.n_elems, call.piece_elems):
        epoch += 1
        # The last PE sends the result of round e+1 after all PEs have left round e.  A PE begins round e+2 after it has
        # that result, or a message of a PE that has it: two buffers and two sets of words suffice.
        part = buffer(work, epoch)
        result = part + call.piece_elems * call.acc_bytes
        summed = words(work, epoch, 2)  # word: the partial from pred has arrived
        spread = word(summed, 1)  # word: the result from pred has arrived
        own = piece_inside(call, start)
        out, src, n = own.out, own.src, own.n_elems

        # down the ring: PE 0 starts, the last PE completes
        if pe.me == 0:
            to_partials(pe.ctx, work.outbox + part, src, n)
            message = Message(work.inbox + part, work.outbox + part, n * call.acc_bytes, succ)
            put_signal(pe.ctx, message, summed, epoch)
        else:
            wait(pe.ctx, summed, epoch, pred)
            if pe.me < pe.n_pes - 1:
                reduce(pe.ctx, work.outbox + part, work.inbox + part, src, n)
                message = Message(work.inbox + part, work.outbox + part, n * call.acc_bytes, succ)
                put_signal(pe.ctx, message, summed, epoch)
            else:
                reduce_and_round(pe.ctx, work.outbox + result, work.inbox + part, src, n)
                message = Message(work.inbox + result, work.outbox + result, n * call.item_bytes, succ)
                put_signal(pe.ctx, message, spread, epoch)
                copy(out, work.outbox + result, n * call.item_bytes)

        # round again: the last PE's result goes from PE 0 to PE n-2
        if pe.me < pe.n_pes - 1:
            wait(pe.ctx, spread, epoch, pred)
            if pe.me < pe.n_pes - 2:
                message = Message(work.inbox + result, work.inbox + result, n * call.item_bytes, succ)
                put_signal(pe.ctx, message, spread, epoch)
            copy(out, work.inbox + result, n * call.item_bytes)
    store_epoch(work, epoch)


def cost_us(size: Size, topology: Topology, machine: Machine) -> float:
    """The whole vector goes round twice, in two messages a PE; its crossings between nodes come one after another."""
    n, n_nodes = topology.n_pes, topology.n_nodes
    crossings = n_nodes if n_nodes > 1 else 0
    both_ways = (1 + size.widening) * size.nbytes
    return machine.call_us(Counts(
        rounds=size.rounds(1), near_steps=2 * (n - 1) * (n - crossings) / n, net_steps=2 * (n - 1) * crossings / n,
        messages=2, sent=both_ways * (n - 1) * (n - crossings) / n,
        nic=both_ways * (n_nodes - (1 + (topology.largest_node == 1)) / 2) if n_nodes > 1 else 0, moved=size.nbytes,
        added=(n - 1) * size.nbytes,
    ))  # fmt: skip


ALGORITHM = Algorithm(simple_ring, slots_plan, slots=lambda topology, limits: 2, holds=PARTIALS, cost_us=cost_us)
