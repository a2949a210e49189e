"""Two-shot AllReduce: reduce-scatter by this text, all-gather by the device's copy engines.

Source: NVIDIA's copy engine collectives (NCCL 2.28).  The engines move 388 GB/s
over NVLink where a kernel's stores move 356 to 365 (H200), and need no
multiprocessor, but each copy costs microseconds: this is for the largest vectors.

PE p reduces chunk p of out, copies of it go to every PE, and ``meet`` holds the
stream until all PEs' copies have arrived.  The chunks are whole: a copy each.
"""

from ..algorithm import ELEMENTS, VECTOR_ELEMS, Algorithm, Limits, Place, Plan, by_stores, cut
from ..block import block, blocks, combine, fence, put, read_epoch, signal_all, wait_all, write_epoch

MIN_PIECE_BYTES, MAX_PIECE_BYTES = 16384, 65536  # a fence a round costs about 2 us


def chunk_elems(count, n_pes):
    """Elements of one PE's chunk; those of the last PEs may be shorter, or empty."""
    return (count + n_pes * VECTOR_ELEMS - 1) // (n_pes * VECTOR_ELEMS) * VECTOR_ELEMS


def chunk_of(pe, count, chunk, low, piece_elems):
    """Elements of the piece at ``low`` of PE pe's chunk."""
    return max(0, min(piece_elems, min(chunk, count - pe * chunk) - low))


def put_piece(ctx, me, n_pes, item_bytes, src, count, chunk, low, piece_elems, slot):
    """To every PE this PE's part of the piece at ``low`` of its chunk."""
    for k in range(1, n_pes):
        pe = (me + k) % n_pes
        n = chunk_of(pe, count, chunk, low, piece_elems)
        put(ctx, slot, src + (pe * chunk + low) * item_bytes, n * item_bytes, pe)


def two_shot_copied(
    ctx,
    me,
    n_pes,
    item_bytes,
    acc_bytes,
    out,
    src,
    count,
    piece_elems,
    buffer_bytes,
    inbox,
    outbox,
    signals,
    epochs,
    routes,
):
    """Chunk ``me`` of out (count,) = op over all PEs of that chunk of src (count,); out may be src, and is symmetric.

    inbox   (blocks, 4 rounds in turn, buffer_bytes / 2), a round holds (n_pes sources, slot) elements
    signals (blocks, 2 uses, n_pes sources) words: parts that came, and for ``meet``;  outbox is scratch
    """
    chunk = chunk_elems(count, n_pes)
    turn_bytes = buffer_bytes // 2
    slot_bytes = turn_bytes // n_pes // 16 * 16
    own_inbox = inbox + block() * 2 * buffer_bytes
    scratch = outbox + block() * 2 * buffer_bytes
    arrived = signals + block() * 2 * n_pes * 8  # (n_pes,) words
    epoch = read_epoch(epochs, block())
    low = block() * piece_elems
    stride = blocks() * piece_elems
    if low < chunk:
        slot = own_inbox + ((epoch + 1) & 3) * turn_bytes + me * slot_bytes
        put_piece(ctx, me, n_pes, item_bytes, src, count, chunk, low, piece_elems, slot)
        fence(ctx)
        signal_all(ctx, arrived, epoch + 1, me, n_pes)
    while low < chunk:
        epoch += 1
        # A PE signals piece e+1 when it has read piece e, so that a piece finds the one three before it read.
        following = low + stride
        if following < chunk:
            slot = own_inbox + ((epoch + 1) & 3) * turn_bytes + me * slot_bytes
            put_piece(ctx, me, n_pes, item_bytes, src, count, chunk, following, piece_elems, slot)
        wait_all(ctx, arrived, epoch, me, n_pes)
        slots = own_inbox + (epoch & 3) * turn_bytes
        at = (me * chunk + low) * item_bytes
        n = chunk_of(me, count, chunk, low, piece_elems)
        combine(ctx, out + at, slots, slot_bytes, src + at, n, scratch, me, n_pes)
        if following < chunk:
            fence(ctx)
            signal_all(ctx, arrived, epoch + 1, me, n_pes)
        low = following
    write_epoch(epochs, block(), epoch)


def meet(ctx, me, n_pes, signals, epochs):
    """Wait for every PE to be here, one block; each brings the epoch of its block 0, which grows at every call."""
    arrived = signals + n_pes * 8  # (n_pes,) words
    epoch = read_epoch(epochs, 0)
    signal_all(ctx, arrived, epoch, me, n_pes)
    wait_all(ctx, arrived, epoch, me, n_pes)


def plan(count: int, item_bytes: int, acc_bytes: int, place: Place, limits: Limits) -> Plan:
    """Blocks of at least 16 KiB, pieces large enough to hide their fences."""
    n_blocks = min(limits.max_blocks, max(1, count * item_bytes // 16384))
    largest = min(limits.buffer_bytes // 2 // place.n_pes // item_bytes, MAX_PIECE_BYTES // item_bytes)
    chunk = chunk_elems(count, place.n_pes)
    piece = cut(chunk, n_blocks, min(largest, max(chunk // n_blocks // 2, MIN_PIECE_BYTES // item_bytes)))
    return Plan(n_blocks, piece)


ALGORITHM = Algorithm(
    name="two_shot_copied",
    sentence="reduce-scatter in one hop, then all-gather by the copy engines: for plans on a symmetric out",
    needs="a plan, and out symmetric",
    kernel=two_shot_copied,
    plan=plan,
    signals=lambda place: 2 * place.n_pes,
    slots=lambda place, limits: 2 * place.n_pes,
    holds=ELEMENTS,
    outbox=False,
    refuse=by_stores,
    copied=chunk_elems,
    meet=meet,
)
