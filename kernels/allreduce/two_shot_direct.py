"""Direct two-shot AllReduce: the reduced chunks go straight into the peers' out; for plans on a symmetric out.

Source: the zero-copy all-gather of NCCL's symmetric windows, after this library's two-shot by puts.  Reduced chunks are
not copied from an inbox, which halves the traffic in a PE's own memory.

When may a PE write a chunk of a peer's ``out``?  After it has received the peer's part of this chunk.  Then the peer's
kernel has begun, so earlier work of the peer's stream has ended, and the peer has read its own part of the chunk.
"""

from functools import partial

from ..algorithm import ELEMENTS, Algorithm, per_pe
from ..block import block, combine_put, fence, signal_all, wait_all
from ..plans import MIN_PIECE_BYTES, piece_plan
from ..records import PE, Reduction, Work
from ..slots import half_buffer_slots, outbox_of, slot_at, staging_slots, word, words
from ..steps import fence_signal_all, first_count, piece, store_count, tag_epoch
from .two_shot import put_parts


def two_shot_direct(pe: PE, call: Reduction, work: Work):
    """out (n_elems,) = op over all PEs of src (n_elems,); out may be src, and is symmetric.

    inbox   (blocks, 4 half buffers), a half buffer holds (n_pes sources,) slots of elements
    outbox  (blocks, 2 buffers): scratch, and (n_pes,) slots for ``stage_for_put``
    signals (blocks, 2, 2 shots, n_pes sources) words: a part of this PE's chunk has arrived; reduced chunks are in out
    """
    scratch = outbox_of(work, 0)
    staging = staging_slots(work, pe.n_pes)
    round_elems = pe.n_pes * call.piece_elems
    count, start, stride = first_count(work, round_elems)
    if start < call.n_elems:
        put_parts(pe, call, start, slot_at(half_buffer_slots(work, count + 1, pe.n_pes), pe.me), staging)
        fence_signal_all(pe, words(work, count + 1, 2 * pe.n_pes), tag_epoch(work, count + 1))
    while start < call.n_elems:
        # Four half buffers suffice: a PE signals its parts of epoch e after it has read those of e-1.  This PE has
        # waited for the signals of e-1 before it puts parts of e+1, so every peer has read e-2, and so e-3, which e+1
        # overwrites.  Two sets of words suffice: before it signals e+1, each peer has waited for e-1.  A PE sends the
        # signal at the end of a call only after every PE has finished the previous call.
        count, following = count + 1, start + stride
        if following < call.n_elems:
            put_parts(pe, call, following, slot_at(half_buffer_slots(work, count + 1, pe.n_pes), pe.me), staging)
        own, slots = piece(call, start, pe.me), half_buffer_slots(work, count, pe.n_pes)
        wait_all(pe.ctx, words(work, count, 2 * pe.n_pes), tag_epoch(work, count), pe.me, pe.n_pes)
        combine_put(pe, own, own.out, slots, scratch)
        fence(pe.ctx)
        if following < call.n_elems:
            signal_all(pe.ctx, words(work, count + 1, 2 * pe.n_pes), tag_epoch(work, count + 1), pe.me, pe.n_pes)
        start = following
    if block() * round_elems < call.n_elems:
        reduced = word(words(work, count, 2 * pe.n_pes), pe.n_pes)
        signal_all(pe.ctx, reduced, tag_epoch(work, count), pe.me, pe.n_pes)
        wait_all(pe.ctx, reduced, tag_epoch(work, count), pe.me, pe.n_pes)
    store_count(work, count)


ALGORITHM = Algorithm(
    two_shot_direct, partial(piece_plan, pieces=2, min_piece_bytes=MIN_PIECE_BYTES), slots=per_pe(2), holds=ELEMENTS,
    shares=per_pe(1), outbox=False, canonical=True,
)  # fmt: skip
