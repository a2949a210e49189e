"""One-shot AllReduce: every PE puts its vector to every other PE, piece by piece with a signal each; one latency step.

Source: the Penny worklog, part 2 ("all in one go"), and vLLM's one-stage kernel (pull request 2192), pushed instead of
pulled.  While a piece is under way, a block adds up the piece before it; then it signals the piece under way.
"""

from functools import partial

from ..algorithm import ELEMENTS, ROUND_ONCE, Algorithm, per_pe
from ..block import combine, put, stage_for_put, wait_all
from ..cost import Shots, shots_us
from ..plans import piece_plan
from ..records import PE, Reduction, Work
from ..slots import half_buffer_slots, outbox_of, slot_at, staging_slots, words
from ..steps import fence_signal_all, first_count, peer, piece_inside, store_count, tag_epoch


def put_piece(pe: PE, call: Reduction, work: Work, start: int, count: int):
    """Put the piece that begins at element ``start`` to every other PE, for the round number ``count``."""
    own, slot = piece_inside(call, start), slot_at(half_buffer_slots(work, count, pe.n_pes), pe.me)
    staging = staging_slots(work, pe.n_pes)
    for k in range(1, pe.n_pes):
        to = peer(pe, k)
        put(pe.ctx, slot, stage_for_put(pe.ctx, slot_at(staging, to), own.src, own.nbytes, to), own.nbytes, to)


def one_shot(pe: PE, call: Reduction, work: Work):
    """out (n_elems,) = op over all PEs of src (n_elems,), plus residual (n_elems,) if not 0; out may be src or residual.

    The residual is added before the result is rounded.

    inbox   (blocks, 4 half buffers), a half buffer holds (n_pes sources,) slots of elements
    outbox  (blocks, 2 buffers): scratch, and (n_pes,) slots that puts start from
    signals (blocks, 2, n_pes sources) words
    """
    scratch = outbox_of(work, 0)
    count, start, stride = first_count(work, call.piece_elems)
    if start < call.n_elems:
        put_piece(pe, call, work, start, count + 1)
        fence_signal_all(pe, words(work, count + 1, pe.n_pes), tag_epoch(work, count + 1))
    while start < call.n_elems:
        count, following = count + 1, start + stride
        if following < call.n_elems:
            put_piece(pe, call, work, following, count + 1)
        # A PE signals epoch e after its receiver has waited for e-2: two sets of words suffice.
        wait_all(pe.ctx, words(work, count, pe.n_pes), tag_epoch(work, count), pe.me, pe.n_pes)
        own, slots = piece_inside(call, start), half_buffer_slots(work, count, pe.n_pes)
        combine(pe, own, slots, scratch)
        if following < call.n_elems:
            fence_signal_all(pe, words(work, count + 1, pe.n_pes), tag_epoch(work, count + 1))
        start = following
    store_count(work, count)


ALGORITHM = Algorithm(
    one_shot, piece_plan, slots=per_pe(2), holds=ELEMENTS, signals=per_pe(2), outbox=False,
    cost_us=partial(shots_us, shots=Shots(1, packets=False, overlaps=True)), residual=ROUND_ONCE, canonical=True,
)  # fmt: skip
