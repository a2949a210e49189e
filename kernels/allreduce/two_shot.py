"""Two-shot AllReduce: every PE reduces one chunk and puts it to all; two latency steps, 2 (n-1)/n of the vector.

Source: vLLM pull request 2192 (two-stage) and Penny part 2, pushed instead of pulled: puts arrive with a signal, without
a barrier.  A round puts the pieces of the next round before it waits for its own, and collects the reduced chunks of the
round before.  Its signals come at its end, when the puts before them have long arrived.
"""

from functools import partial

from ..algorithm import ELEMENTS, ROUND_TWICE, Algorithm, per_pe
from ..block import combine_put, copy, fence, plus, put, signal_all, stage_for_put, wait_all
from ..cost import Shots, shots_us
from ..plans import MIN_PIECE_BYTES, piece_plan
from ..records import PE, Piece, Reduction, Slots, Work
from ..slots import half_buffer_slots, outbox_of, slot_at, staging_slots, word, words
from ..steps import fence_signal_all, first_count, peer, piece, store_count, tag_epoch


def put_parts(pe: PE, call: Reduction, start: int, at: int, staging: Slots):
    """To every other PE this PE's part of its chunk, to ``at``.  staging (n_pes,): see ``stage_for_put``."""
    for k in range(1, pe.n_pes):
        to = peer(pe, k)
        part = piece(call, start, to)
        source = stage_for_put(pe.ctx, slot_at(staging, to), part.src, part.nbytes, to)
        put(pe.ctx, at, source, part.nbytes, to)


def reduce_own(pe: PE, call: Reduction, start: int, slots: Slots, scratch: int):
    """Add this PE's chunk up, and put it to all others.  slots (2 shots, n_pes sources): parts, then reduced chunks."""
    own = piece(call, start, pe.me)
    # In out, or if that may be the residual, in the one slot that no peer writes.
    result = slot_at(slots, pe.me) if call.residual else own.out
    there = slot_at(slots, pe.n_pes + pe.me)
    combine_put(pe, Piece(result, own.src, 0, own.n_elems, own.nbytes), there, slots, scratch)
    if call.residual:
        plus(pe.ctx, own.out, result, own.residual, own.n_elems)


def collect(pe: PE, call: Reduction, start: int, slots: Slots):
    """From every other PE the chunk that it reduced.  slots: as above."""
    for k in range(1, pe.n_pes):
        source = peer(pe, k)
        chunk = piece(call, start, source)
        reduced = slot_at(slots, pe.n_pes + source)
        if call.residual:
            plus(pe.ctx, chunk.out, reduced, chunk.residual, chunk.n_elems)
        else:
            copy(chunk.out, reduced, chunk.nbytes)


def two_shot(pe: PE, call: Reduction, work: Work):
    """out (n_elems,) = op over all PEs of src (n_elems,), plus residual (n_elems,) if not 0; out may be src or residual.

    The result is rounded before it travels, and once more when the residual is added.

    inbox   (blocks, 4 half buffers), a half buffer holds (2 shots, n_pes sources) slots of elements
    outbox  (blocks, 2 buffers): scratch, and (n_pes,) slots that parts start from
    signals (blocks, 2, 2 shots, n_pes sources) words: a part of this PE's chunk is here; a reduced chunk is
    """
    scratch = outbox_of(work, 0)
    staging = staging_slots(work, 2 * pe.n_pes)
    round_elems = pe.n_pes * call.piece_elems
    count, start, stride = first_count(work, round_elems)
    begin = start
    if start < call.n_elems:
        put_parts(pe, call, start, slot_at(half_buffer_slots(work, count + 1, 2 * pe.n_pes), pe.me), staging)
        fence_signal_all(pe, words(work, count + 1, 2 * pe.n_pes), tag_epoch(work, count + 1))
    while start < call.n_elems:
        # The signal of a part of epoch e comes when its PE is done with epoch e-1 and has collected e-2.
        # So parts of e+1 find those of e-2 read, and a reduced chunk of e that of e-2: four half buffers are enough.  A
        # signal of e finds that of e-2 taken: its receiver sent a signal after that, in e-1 or at the end of a call.
        count, following, before = count + 1, start + stride, start - stride
        epoch = tag_epoch(work, count)
        now, other = words(work, count, 2 * pe.n_pes), words(work, count + 1, 2 * pe.n_pes)
        if following < call.n_elems:
            put_parts(pe, call, following, slot_at(half_buffer_slots(work, count + 1, 2 * pe.n_pes), pe.me), staging)
        wait_all(pe.ctx, now, epoch, pe.me, pe.n_pes)
        reduce_own(pe, call, start, half_buffer_slots(work, count, 2 * pe.n_pes), scratch)
        if start > begin:
            wait_all(pe.ctx, word(other, pe.n_pes), epoch - 1, pe.me, pe.n_pes)
            collect(pe, call, before, half_buffer_slots(work, count - 1, 2 * pe.n_pes))
        fence(pe.ctx)
        signal_all(pe.ctx, word(now, pe.n_pes), epoch, pe.me, pe.n_pes)
        if following < call.n_elems:
            signal_all(pe.ctx, other, epoch + 1, pe.me, pe.n_pes)
        start = following
    if start > begin:
        wait_all(pe.ctx, word(words(work, count, 2 * pe.n_pes), pe.n_pes), tag_epoch(work, count), pe.me, pe.n_pes)
        collect(pe, call, start - stride, half_buffer_slots(work, count, 2 * pe.n_pes))
    store_count(work, count)


ALGORITHM = Algorithm(
    two_shot, partial(piece_plan, pieces=4, min_piece_bytes=MIN_PIECE_BYTES, max_piece_bytes=1 << 30), slots=per_pe(4),
    holds=ELEMENTS, signals=per_pe(4), shares=per_pe(1), outbox=False,
    cost_us=partial(shots_us, shots=Shots(2, packets=False, overlaps=True)), residual=ROUND_TWICE, canonical=True,
)  # fmt: skip
