"""Ring AllReduce: reduce-scatter and all-gather round one ring; every PE sends 2 (n-1)/n of the vector.

Source: Patarasu and Yuan, "Bandwidth optimal all-reduce algorithms for clusters of workstations" (2009), with a signal in
each put as in the Penny worklog.  2 (n-1) messages a PE, all to one neighbour.
"""

from functools import partial

from ..algorithm import PARTIALS, Algorithm, per_pe, per_peer
from ..block import copy, put_signal, reduce, reduce_and_round, to_partials, wait
from ..cost import ring_us
from ..plans import slots_plan
from ..records import PE, Message, Reduction, Work
from ..slots import inbox_of, outbox_of, word, words
from ..steps import load_epoch, neighbours, piece, rank_after, rounds, store_epoch


def ring(pe: PE, call: Reduction, work: Work):
    """out (n_elems,) = op over all PEs of src (n_elems,); out may be src.

    inbox, outbox (blocks, 2 buffers), a buffer holds (2 (n_pes-1) steps, piece_elems) partials
    signals       (blocks, 2, 2 (n_pes-1) steps) words
    """
    succ, pred = neighbours(pe)
    steps = 2 * (pe.n_pes - 1)
    slot_bytes = call.piece_elems * call.acc_bytes
    epoch = load_epoch(work)
    for start in rounds(call.n_elems, pe.n_pes * call.piece_elems):
        epoch += 1
        # When a PE has finished round e+1, all PEs have finished e: two buffers and two sets of words suffice.
        inbox, outbox = inbox_of(work, epoch), outbox_of(work, epoch)  # (steps,) slots
        arrived = words(work, epoch, steps)
        chunk = pe.me
        for step in range(steps + 1):
            own = piece(call, start, chunk)
            n, nbytes = own.n_elems, own.n_elems * call.acc_bytes
            slot = step * slot_bytes
            received, ready = inbox + slot - slot_bytes, outbox + slot
            if step == 0:  # reduce-scatter, first step: send
                to_partials(pe.ctx, ready, own.src, n)
            elif step < pe.n_pes - 1:  # n-2 steps: receive, reduce, send
                reduce(pe.ctx, ready, received, own.src, n)
            else:
                nbytes = own.nbytes
                if step == pe.n_pes - 1:  # receive, reduce: the chunk is complete; all-gather, first step: send
                    reduce_and_round(pe.ctx, ready, received, own.src, n)
                else:  # n-2 steps: receive, send;  last step: receive
                    ready = received
                copy(own.out, ready, nbytes)
            if step < steps:
                put_signal(pe.ctx, Message(inbox + slot, ready, nbytes, succ), word(arrived, step), epoch)
                wait(pe.ctx, word(arrived, step), epoch, pred)
            chunk = rank_after(chunk, pe.n_pes - 1, pe.n_pes)
    store_epoch(work, epoch)


ALGORITHM = Algorithm(
    ring, slots_plan, slots=per_peer(2), holds=PARTIALS, shares=per_pe(1), cost_us=partial(ring_us, n_rings=1)
)
