"""Ring AllReduce: reduce-scatter round the ring, then all-gather round the ring.

Source: Patarasu and Yuan, "Bandwidth optimal all-reduce algorithms for clusters
of workstations" (2009); the put-with-signal form follows the Penny worklog.

Each PE sends 2 (n-1)/n of the vector, in 2 (n-1) messages, to one neighbour.
"""

from ..algorithm import PARTIALS, Algorithm, Limits, Place, Plan, anywhere, cut
from ..block import copy, finish, put_signal, reduce, wait, widen
from ..records import PE, Reduction, Work
from ..steps import WORD_BYTES, buffer, finish_epoch, last_epoch, neighbours, piece, rounds, words


def ring(pe: PE, call: Reduction, work: Work):
    """out (n_elems,) = op over all PEs of src (n_elems,); out may be src.

    inbox, outbox (blocks, 2 buffers), a buffer holds (2 (n_pes-1) steps, piece_elems) partials
    signals       (blocks, 2, 2 (n_pes-1) steps) words
    """
    succ, pred = neighbours(pe)
    steps = 2 * (pe.n_pes - 1)
    slot_bytes = call.piece_elems * call.acc_bytes
    epoch = last_epoch(work)
    for start in rounds(call.n_elems, pe.n_pes * call.piece_elems):
        epoch += 1
        # A PE that finished round e+1 proves that all finished round e: two buffers are enough, and two sets of words.
        inbox, outbox = work.inbox + buffer(work, epoch), work.outbox + buffer(work, epoch)  # (steps,) slots
        arrived = words(work, epoch, steps)

        # n-1 steps: pass on the partial of a chunk, one step further round the ring
        chunk = pe.me
        for step in range(pe.n_pes - 1):
            own = piece(call, start + chunk * call.piece_elems)
            slot, word = step * slot_bytes, arrived + step * WORD_BYTES
            if step == 0:
                widen(pe.ctx, outbox + slot, call.src + own.offset_bytes, own.n_elems)
            else:
                reduce(pe.ctx, outbox + slot, inbox + slot - slot_bytes, call.src + own.offset_bytes, own.n_elems)
            put_signal(pe.ctx, inbox + slot, outbox + slot, own.n_elems * call.acc_bytes, word, epoch, succ)
            wait(pe.ctx, word, epoch, pred)
            chunk = chunk - 1 if chunk > 0 else pe.n_pes - 1

        # this PE's chunk has been everywhere: complete it
        own = piece(call, start + chunk * call.piece_elems)
        slot = (pe.n_pes - 1) * slot_bytes
        finish(pe.ctx, outbox + slot, inbox + slot - slot_bytes, call.src + own.offset_bytes, own.n_elems)
        copy(call.out + own.offset_bytes, outbox + slot, own.n_elems * call.item_bytes)

        # n-1 steps: pass on the complete chunks, the first from the outbox, the others as they came
        complete = outbox + slot
        for step in range(pe.n_pes - 1, steps):
            slot, word = step * slot_bytes, arrived + step * WORD_BYTES
            put_signal(pe.ctx, inbox + slot, complete, own.n_elems * call.item_bytes, word, epoch, succ)
            wait(pe.ctx, word, epoch, pred)
            complete = inbox + slot
            chunk = chunk - 1 if chunk > 0 else pe.n_pes - 1
            own = piece(call, start + chunk * call.piece_elems)
            copy(call.out + own.offset_bytes, complete, own.n_elems * call.item_bytes)
    finish_epoch(work, epoch)


def _steps(place: Place) -> int:
    return 2 * (place.n_pes - 1)


def plan(count: int, item_bytes: int, acc_bytes: int, place: Place, limits: Limits) -> Plan:
    """As many blocks as chunks of 4 KiB can feed, pieces as large as a half allows."""
    wanted = max(1, count * item_bytes // (place.n_pes * 4096))
    n_blocks = min(limits.max_blocks, wanted)
    return Plan(n_blocks, cut(count, place.n_pes * n_blocks, limits.buffer_bytes // (_steps(place) * acc_bytes)))


ALGORITHM = Algorithm(
    name="ring",
    sentence="reduce-scatter and all-gather round one ring; every PE sends 2 (n-1)/n of the vector",
    needs="none",
    kernel=ring,
    plan=plan,
    signals=lambda place: 2 * _steps(place),
    slots=lambda place, limits: _steps(place),
    holds=PARTIALS,
    refuse=anywhere,
)
