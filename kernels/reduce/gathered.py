"""Gathered Reduce: each PE but the root adds up another piece of all, and gives it to the root.

Source: reduce-scatter and gather, Rabenseifner's reduce for long vectors (2004), in one
hop each.  No PE sends or receives the vector more than once.
"""

from ..algorithm import ELEMENTS, Algorithm, Limits, Place, Plan, by_stores, piece_plan
from ..block import block, blocks, combine, copy, put, put_signal, signal_all, wait, wait_all
from ..records import PE, Reduction, Work
from ..steps import VECTOR_BYTES, WORD_BYTES, block_words, buffer, distance, finish_epoch, last_epoch, piece, slot


def gathered(pe: PE, call: Reduction, work: Work):
    """On PE root, out (n_elems,) = op over all PEs of src (n_elems,); out may be src.

    inbox   (blocks, 2 buffers), a buffer holds (n_pes sources) slots: parts, and on the root results
    outbox  (blocks, 2 buffers): this PE's result, then scratch
    signals (blocks, 3, n_pes) words: a source's part is here; its result is; the epoch that a PE has read
    """
    pieces = pe.n_pes - 1  # of a round: piece j is for the PE j + 1 behind the root
    slot_bytes = slot(work.buffer_bytes, pe.n_pes, VECTOR_BYTES)
    first = block_words(work, 3 * pe.n_pes)  # (n_pes,) words
    second = first + pe.n_pes * WORD_BYTES  # (n_pes,) words
    read = second + pe.n_pes * WORD_BYTES  # (n_pes,) words
    epoch = last_epoch(work)
    start = block() * pieces * call.piece_elems
    while start < call.n_elems:
        epoch += 1
        slots, result = work.inbox + buffer(work, epoch), work.outbox + buffer(work, epoch)
        own_slot = slots + pe.me * slot_bytes
        wait_all(pe.ctx, read, epoch - 2, pe.me, pe.n_pes)  # nobody reads what this epoch's messages overwrite
        for k in range(1, pe.n_pes):
            peer = (pe.me + k) % pe.n_pes
            if peer != call.root:
                part = piece(call, start + (distance(pe, call.root, peer) - 1) * call.piece_elems)
                put(pe.ctx, own_slot, call.src + part.offset_bytes, part.n_elems * call.item_bytes, peer)
        signal_all(pe.ctx, first, epoch, pe.me, pe.n_pes)
        if pe.me == call.root:
            for j in range(pieces):
                peer = (pe.me + 1 + j) % pe.n_pes
                part = piece(call, start + j * call.piece_elems)
                wait(pe.ctx, second + peer * WORD_BYTES, epoch, peer)
                copy(call.out + part.offset_bytes, slots + peer * slot_bytes, part.n_elems * call.item_bytes)
        else:
            own = piece(call, start + (distance(pe, call.root, pe.me) - 1) * call.piece_elems)
            src, scratch = call.src + own.offset_bytes, result + slot_bytes
            wait_all(pe.ctx, first, epoch, pe.me, pe.n_pes)
            combine(pe.ctx, result, slots, slot_bytes, src, own.n_elems, scratch, pe.me, pe.n_pes)
            word = second + pe.me * WORD_BYTES
            put_signal(pe.ctx, own_slot, result, own.n_elems * call.item_bytes, word, epoch, call.root)
        signal_all(pe.ctx, read, epoch, pe.me, pe.n_pes)
        start += blocks() * pieces * call.piece_elems
    finish_epoch(work, epoch)


def plan(count: int, item_bytes: int, acc_bytes: int, place: Place, limits: Limits) -> Plan:
    """See ``piece_plan``."""
    return piece_plan(count, item_bytes, place.n_pes - 1, place.n_pes, limits)


ALGORITHM = Algorithm(
    name="gathered",
    sentence="each PE but the root adds up another piece and gives it to the root; two hops",
    needs="NVLink, or one device or host",
    kernel=gathered,
    plan=plan,
    signals=lambda place: 3 * place.n_pes,
    slots=lambda place, limits: place.n_pes,
    holds=ELEMENTS,
    refuse=by_stores,
)
