"""Direct ReduceScatter: every PE puts each other PE its chunk, piece by piece; one latency step.

Source: the pushed one-shot of AllReduce (one_shot.py).  While a piece is under way, a
block adds up the piece before it; then it signals the piece under way, which has long arrived.
"""

from ..algorithm import per_pe
from ..block import combine, put, wait_all
from ..plans import piece_algorithm
from ..records import PE, Piece, Reduction, Work
from ..slots import block_words, half_buffer_slots, outbox_of, slot_at
from ..steps import fence_signal_all, first_round, peer, piece_inside, store_epoch


def put_pieces(pe: PE, call: Reduction, work: Work, start: int, epoch: int):
    """Put to every other PE the piece of that PE's chunk that begins at element ``start``."""
    part, slot = piece_inside(call, start), slot_at(half_buffer_slots(work, epoch, pe.n_pes), pe.me)
    for k in range(1, pe.n_pes):
        to = peer(pe, k)
        put(pe.ctx, slot, part.src + to * call.n_elems * call.item_bytes, part.nbytes, to)


def direct(pe: PE, call: Reduction, work: Work):
    """out (n_elems,) = op over all PEs of chunk ``me`` of src (n_pes, n_elems); out may be src[me].

    inbox   (blocks, 4 half buffers), a half buffer holds (n_pes sources,) slots;  outbox is scratch
    signals (blocks, n_pes sources) words
    """
    chunk_bytes = call.n_elems * call.item_bytes
    arrived, scratch = block_words(work, pe.n_pes), outbox_of(work, 0)
    epoch, start, stride = first_round(work, call.piece_elems)
    if start < call.n_elems:
        put_pieces(pe, call, work, start, epoch + 1)
        fence_signal_all(pe, arrived, epoch + 1)
    while start < call.n_elems:
        epoch, following = epoch + 1, start + stride
        if following < call.n_elems:
            put_pieces(pe, call, work, following, epoch + 1)
        wait_all(pe.ctx, arrived, epoch, pe.me, pe.n_pes)
        own, slots = piece_inside(call, start), half_buffer_slots(work, epoch, pe.n_pes)
        part = Piece(own.out, own.src + pe.me * chunk_bytes, 0, own.n_elems, own.nbytes)
        combine(pe, part, slots, scratch)
        if following < call.n_elems:
            fence_signal_all(pe, arrived, epoch + 1)
        start = following
    store_epoch(work, epoch)


ALGORITHM = piece_algorithm(direct, slots=per_pe(2), signals=per_pe(1))
