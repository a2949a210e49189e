"""Ring ReduceScatter: partials go round the ring; n-1 messages a PE, all to one neighbour.

Source: the first half of the ring AllReduce of Patarasu and Yuan (2009).
"""

from ..algorithm import PARTIALS, Algorithm, per_peer
from ..block import put_signal, reduce, reduce_and_round, to_partials, wait
from ..plans import slots_plan
from ..records import PE, Message, Reduction, Work
from ..slots import inbox_of, outbox_of, word, words
from ..steps import load_epoch, neighbours, piece_inside, rounds, store_epoch


def ring(pe: PE, call: Reduction, work: Work):
    """out (n_elems,) = op over all PEs of chunk ``me`` of src (n_pes, n_elems); out may be src[me].

    inbox, outbox (blocks, 2 buffers), a buffer holds (n_pes-1 steps, piece_elems) partials
    signals       (blocks, 2, n_pes-1 steps) words
    """
    succ, pred = neighbours(pe)
    slot_bytes = call.piece_elems * call.acc_bytes
    chunk_bytes = call.n_elems * call.item_bytes
    epoch = load_epoch(work)
    for start in rounds(call.n_elems, call.piece_elems):
        epoch += 1
        # The last partial of epoch e+1 has passed through all PEs after they finished epoch e: two buffers and two sets
        # of words suffice.
        inbox, outbox = inbox_of(work, epoch), outbox_of(work, epoch)  # (n_pes-1 steps,) slots
        arrived = words(work, epoch, pe.n_pes - 1)
        own = piece_inside(call, start)
        src = own.src
        chunk = pred
        for step in range(pe.n_pes - 1):
            slot = step * slot_bytes
            if step == 0:
                to_partials(pe.ctx, outbox + slot, src + chunk * chunk_bytes, own.n_elems)
            else:
                reduce(pe.ctx, outbox + slot, inbox + slot - slot_bytes, src + chunk * chunk_bytes, own.n_elems)
            nbytes = own.n_elems * call.acc_bytes
            put_signal(pe.ctx, Message(inbox + slot, outbox + slot, nbytes, succ), word(arrived, step), epoch)
            wait(pe.ctx, word(arrived, step), epoch, pred)
            chunk = (chunk + pe.n_pes - 1) % pe.n_pes
        last = inbox + (pe.n_pes - 2) * slot_bytes
        reduce_and_round(pe.ctx, own.out, last, src + pe.me * chunk_bytes, own.n_elems)
    store_epoch(work, epoch)


ALGORITHM = Algorithm(ring, slots_plan, slots=per_peer(1), holds=PARTIALS)
