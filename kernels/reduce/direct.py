"""Direct Reduce: everybody puts the root everything, piece by piece with a signal each.

Source: the pushed one-shot of AllReduce (one_shot.py), to one PE.  One hop; the root
receives the vector n-1 times, so it is for two PEs.
"""

from ..algorithm import ELEMENTS, Algorithm, Limits, Place, Plan, by_stores, piece_plan
from ..block import block, blocks, combine, put_signal, signal_all, wait, wait_all
from ..records import PE, Reduction, Work
from ..steps import VECTOR_BYTES, WORD_BYTES, block_words, buffer, finish_epoch, last_epoch, piece, slot


def direct(pe: PE, call: Reduction, work: Work):
    """On PE root, out (n_elems,) = op over all PEs of src (n_elems,); out may be src.

    inbox   (blocks, 2 buffers), a buffer holds (n_pes sources) slots
    outbox  (blocks, 2 buffers) is scratch
    signals (blocks, 2, n_pes) words: a source's piece is here; the epoch that a PE has read, or needs no more
    """
    slot_bytes = slot(work.buffer_bytes, pe.n_pes, VECTOR_BYTES)
    arrived = block_words(work, 2 * pe.n_pes)  # (n_pes,) words
    read = arrived + pe.n_pes * WORD_BYTES  # (n_pes,) words
    epoch = last_epoch(work)
    start = block() * call.piece_elems
    while start < call.n_elems:
        epoch += 1
        slots, scratch = work.inbox + buffer(work, epoch), work.outbox + buffer(work, epoch)
        own = piece(call, start)
        src = call.src + own.offset_bytes
        if pe.me == call.root:
            out = call.out + own.offset_bytes
            wait_all(pe.ctx, arrived, epoch, pe.me, pe.n_pes)
            combine(pe.ctx, out, slots, slot_bytes, src, own.n_elems, scratch, pe.me, pe.n_pes)
            signal_all(pe.ctx, read, epoch, pe.me, pe.n_pes)
        else:
            own_slot, own_word = slots + pe.me * slot_bytes, arrived + pe.me * WORD_BYTES
            wait(pe.ctx, read + call.root * WORD_BYTES, epoch - 2, call.root)  # the piece that this one overwrites
            put_signal(pe.ctx, own_slot, src, own.n_elems * call.item_bytes, own_word, epoch, call.root)
        start += blocks() * call.piece_elems
    if pe.me != call.root:
        signal_all(pe.ctx, read, epoch, pe.me, pe.n_pes)  # for this PE may be the root next time
    finish_epoch(work, epoch)


def plan(count: int, item_bytes: int, acc_bytes: int, place: Place, limits: Limits) -> Plan:
    """See ``piece_plan``."""
    return piece_plan(count, item_bytes, 1, place.n_pes, limits)


ALGORITHM = Algorithm(
    name="direct",
    sentence="everybody puts the root everything, piece by piece; one hop",
    needs="NVLink, or one device or host",
    kernel=direct,
    plan=plan,
    signals=lambda place: 2 * place.n_pes,
    slots=lambda place, limits: place.n_pes,
    holds=ELEMENTS,
    outbox=False,
    refuse=by_stores,
)
