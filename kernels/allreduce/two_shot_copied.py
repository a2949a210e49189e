"""Two-shot AllReduce by copy engines: one latency step, then copies; for plans on a symmetric out.

Source: NVIDIA's copy engine collectives (NCCL 2.28).  Copy engines move 388 GB/s over NVLink, while the stores of a
kernel move 356 to 365 GB/s (H200), but each copy costs microseconds.  So this algorithm is for the largest vectors.

PE p reduces chunk p of out.  A chunk is contiguous, so one copy for each PE sends it to all PEs.  ``meet`` holds the
stream until the copies of all PEs have arrived.
"""

from ..algorithm import Plan, ToCut, per_pe
from ..block import combine, put, signal_all, wait_all
from ..plans import MAX_PIECE_BYTES, MIN_BLOCK_BYTES, MIN_PIECE_BYTES, VECTOR_ELEMS, cut, piece_algorithm
from ..records import PE, Piece, Reduction, Work
from ..slots import block_words, half_buffer_slots, outbox_of, slot_at, word
from ..steps import fence_signal_all, first_round, load_epoch, peer, piece_from, store_epoch


def chunk_elems(count, n_pes):
    """Elements of a PE's chunk; the chunks of the last PEs may be shorter, or empty."""
    return (count + n_pes * VECTOR_ELEMS - 1) // (n_pes * VECTOR_ELEMS) * VECTOR_ELEMS


def piece_of(call: Reduction, chunk: int, k: int, start: int) -> Piece:
    """The piece that begins at element ``start`` of the k-th PE's chunk of ``chunk`` elements."""
    n = max(0, min(call.piece_elems, min(chunk, call.n_elems - k * chunk) - start))
    return piece_from(call, k * chunk + start, n)


def put_pieces(pe: PE, call: Reduction, chunk: int, start: int, slot: int):
    """Put to every other PE, to ``slot``, this PE's part of the piece at ``start`` of that PE's chunk."""
    for k in range(1, pe.n_pes):
        to = peer(pe, k)
        part = piece_of(call, chunk, to, start)
        put(pe.ctx, slot, part.src, part.nbytes, to)


def two_shot_copied(pe: PE, call: Reduction, work: Work):
    """Chunk ``me`` of out (n_elems,) = op over all PEs of that chunk of src (n_elems,).

    out may be src, and is symmetric.

    inbox   (blocks, 4 half buffers), a half buffer holds (n_pes sources,) slots of elements
    signals (blocks, 2 uses, n_pes sources) words: a part has arrived; a PE is in ``meet``;  outbox is scratch
    """
    chunk, scratch = chunk_elems(call.n_elems, pe.n_pes), outbox_of(work, 0)
    arrived = block_words(work, 2 * pe.n_pes)
    epoch, start, stride = first_round(work, call.piece_elems)
    if start < chunk:
        put_pieces(pe, call, chunk, start, slot_at(half_buffer_slots(work, epoch + 1, pe.n_pes), pe.me))
        fence_signal_all(pe, arrived, epoch + 1)
    while start < chunk:
        epoch, following = epoch + 1, start + stride
        if following < chunk:
            put_pieces(pe, call, chunk, following, slot_at(half_buffer_slots(work, epoch + 1, pe.n_pes), pe.me))
        wait_all(pe.ctx, arrived, epoch, pe.me, pe.n_pes)
        own, slots = piece_of(call, chunk, pe.me, start), half_buffer_slots(work, epoch, pe.n_pes)
        combine(pe, own, slots, scratch)
        if following < chunk:
            fence_signal_all(pe, arrived, epoch + 1)
        start = following
    store_epoch(work, epoch)


def meet(pe: PE, work: Work):
    """Wait, in one block, until every PE waits.  A PE sends the epoch of its block 0, which grows at every call."""
    arrived, epoch = word(work.signals, pe.n_pes), load_epoch(work)  # (n_pes,) words
    signal_all(pe.ctx, arrived, epoch, pe.me, pe.n_pes)
    wait_all(pe.ctx, arrived, epoch, pe.me, pe.n_pes)


def chunk_plan(call: ToCut) -> Plan:
    """Blocks of at least 16 KiB, pieces large enough to hide their fences."""
    n_blocks, chunk = call.blocks(MIN_BLOCK_BYTES), chunk_elems(call.n_elems, call.topology.n_pes)
    wanted = max(chunk // n_blocks // 2, MIN_PIECE_BYTES // call.item_bytes)
    return Plan(n_blocks, cut(chunk, n_blocks, min(call.slot_elems(), MAX_PIECE_BYTES // call.item_bytes, wanted)))


ALGORITHM = piece_algorithm(
    two_shot_copied, cut=chunk_plan, slots=per_pe(2), signals=per_pe(2), copied=chunk_elems, meet=meet, canonical=True
)
