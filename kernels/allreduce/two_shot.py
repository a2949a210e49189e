"""Two-shot AllReduce: every PE reduces one chunk and puts it to all; two latency steps, 2 (n-1)/n of the vector.

Source: vLLM pull request 2192 (two-stage) and Penny part 2, pushed instead of pulled: puts arrive with a signal, without
a barrier.  In a round a block first puts the pieces of the next round.  Then it waits for the pieces of this round,
reduces them, and copies the reduced chunks of the previous round to out.  It signals at the end of the round, since by
then its puts have arrived and the fence does not wait.
"""

from functools import partial

from ..algorithm import ELEMENTS, ROUND_TWICE, Algorithm, per_pe
from ..block import combine_put, copy, fence, plus, put, signal_all, stage_for_put, wait_all
from ..cost import Shots, shots_us
from ..plans import MIN_PIECE_BYTES, piece_plan
from ..records import PE, Piece, Reduction, Slots, Work
from ..slots import half_buffer_slots, outbox_of, slot_at, staging_slots, word, words
from ..steps import fence_signal_all, first_count, peer, piece, store_count, tag_epoch


def put_parts(pe: PE, call: Reduction, start: int, slot: int, staging: Slots):
    """Put to every other PE, to ``slot``, this PE's part of that PE's chunk.  staging (n_pes,): see ``stage_for_put``."""
    for k in range(1, pe.n_pes):
        to = peer(pe, k)
        part = piece(call, start, to)
        source = stage_for_put(pe.ctx, slot_at(staging, to), part.src, part.nbytes, to)
        put(pe.ctx, slot, source, part.nbytes, to)


def reduce_own(pe: PE, call: Reduction, start: int, slots: Slots, scratch: int):
    """Add up this PE's chunk, and put it to all other PEs.  slots (2 shots, n_pes sources): parts, reduced chunks."""
    own = piece(call, start, pe.me)
    # The result goes to out.  With a residual it goes to the slot that no peer writes, since out may be the residual.
    result = slot_at(slots, pe.me) if call.residual else own.out
    slot = slot_at(slots, pe.n_pes + pe.me)
    combine_put(pe, Piece(result, own.src, 0, own.n_elems, own.nbytes), slot, slots, scratch)
    if call.residual:
        plus(pe.ctx, own.out, result, own.residual, own.n_elems)


def collect(pe: PE, call: Reduction, start: int, slots: Slots):
    """Copy to out the chunks that the other PEs have reduced.  slots: as in ``reduce_own``."""
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
    outbox  (blocks, 2 buffers): scratch, and (n_pes,) slots for ``stage_for_put``
    signals (blocks, 2, 2 shots, n_pes sources) words: a part of this PE's chunk has arrived; a reduced chunk has arrived
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
        # Four half buffers suffice: a PE signals its parts of epoch e only after it has read everything of epoch e-2.
        # This PE has the signal for epoch e of every peer before it puts parts of e+2 or reduced chunks of e+1 to it,
        # which overwrite epoch e-2 and e-3.  Two sets of words suffice: a PE signals epoch e+2 to a peer only after the
        # peer has waited for epoch e and has signalled e+1, or the end of a call.
        count, following, previous = count + 1, start + stride, start - stride
        epoch = tag_epoch(work, count)
        # The two sets of words are used in turn, so next_words are also those of the previous round.
        round_words, next_words = words(work, count, 2 * pe.n_pes), words(work, count + 1, 2 * pe.n_pes)
        if following < call.n_elems:
            put_parts(pe, call, following, slot_at(half_buffer_slots(work, count + 1, 2 * pe.n_pes), pe.me), staging)
        wait_all(pe.ctx, round_words, epoch, pe.me, pe.n_pes)
        reduce_own(pe, call, start, half_buffer_slots(work, count, 2 * pe.n_pes), scratch)
        if start > begin:
            wait_all(pe.ctx, word(next_words, pe.n_pes), epoch - 1, pe.me, pe.n_pes)
            collect(pe, call, previous, half_buffer_slots(work, count - 1, 2 * pe.n_pes))
        fence(pe.ctx)
        signal_all(pe.ctx, word(round_words, pe.n_pes), epoch, pe.me, pe.n_pes)
        if following < call.n_elems:
            signal_all(pe.ctx, next_words, epoch + 1, pe.me, pe.n_pes)
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
