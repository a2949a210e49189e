"""One-shot AllReduce: everybody puts everything to everybody, each piece with a signal.

Source: the Penny worklog, part 2 ("all in one go"), and vLLM's one-stage kernel
(pull request 2192), pushed instead of pulled.  One piece is under way while the
one before it is added up; its signal comes after that, when the piece has long arrived.
"""

from ..algorithm import ELEMENTS, Algorithm, Limits, Place, Plan, anywhere, cut
from ..block import block, blocks, combine, fence, put, read_epoch, signal_all, staged, wait_all, write_epoch

PIECES, MIN_PIECE_BYTES, MAX_PIECE_BYTES = 8, 32768, 65536  # a fence a piece costs about 2 us


def put_all(ctx, me, n_pes, slot, src, nbytes, rooms, slot_bytes):
    """src (nbytes,) to ``slot`` on every other PE.  rooms (n_pes, slot_bytes): see ``staged``."""
    for k in range(1, n_pes):
        pe = (me + k) % n_pes
        put(ctx, slot, staged(ctx, rooms + pe * slot_bytes, src, nbytes, pe), nbytes, pe)


def one_shot(
    ctx, me, n_pes, item_bytes, acc_bytes, out, src, count, piece_elems, buffer_bytes, inbox, outbox, signals, epochs,
    routes, residual,
):  # fmt: skip
    """out (count,) = op over all PEs of src (count,), plus residual (count,) if not 0; out may be src or residual.

    The residual is added before the result is rounded.

    inbox   (blocks, 4 pieces in turn, buffer_bytes / 2), a piece holds (n_pes sources, slot) elements
    outbox  (blocks, 2, buffer_bytes): scratch, and (n_pes, slot) that puts start from
    signals (blocks, 2 parities, n_pes sources) words
    """
    turn_bytes = buffer_bytes // 2
    slot_bytes = turn_bytes // n_pes // 16 * 16
    own_inbox = inbox + block() * 2 * buffer_bytes
    scratch = outbox + block() * 2 * buffer_bytes
    rooms = scratch + buffer_bytes
    words_bytes = n_pes * 8
    arrived = signals + block() * 2 * words_bytes  # (2 parities, n_pes) words
    low = block() * piece_elems
    stride = blocks() * piece_elems
    epoch = read_epoch(epochs, block())
    if low < count:
        slot = own_inbox + ((epoch + 1) & 3) * turn_bytes + me * slot_bytes
        n = min(piece_elems, count - low)
        put_all(ctx, me, n_pes, slot, src + low * item_bytes, n * item_bytes, rooms, slot_bytes)
        fence(ctx)
        signal_all(ctx, arrived + ((epoch + 1) & 1) * words_bytes, epoch + 1, me, n_pes)
    while low < count:
        epoch += 1
        # Put the next piece, then finish this one.  A PE signals piece e+1 when it has read piece e, so
        # that a piece finds the one three before it read: four turns are enough.  Its signal finds that of
        # the piece two before it taken: two words are.
        following = low + stride
        if following < count:
            slot = own_inbox + ((epoch + 1) & 3) * turn_bytes + me * slot_bytes
            n = min(piece_elems, count - following)
            put_all(ctx, me, n_pes, slot, src + following * item_bytes, n * item_bytes, rooms, slot_bytes)
        wait_all(ctx, arrived + (epoch & 1) * words_bytes, epoch, me, n_pes)
        slots = own_inbox + (epoch & 3) * turn_bytes
        at = low * item_bytes
        n = min(piece_elems, count - low)
        rest = residual + at if residual else 0
        combine(ctx, out + at, slots, slot_bytes, src + at, n, scratch, me, n_pes, rest)
        if following < count:
            fence(ctx)
            signal_all(ctx, arrived + ((epoch + 1) & 1) * words_bytes, epoch + 1, me, n_pes)
        low = following
    write_epoch(epochs, block(), epoch)


def plan(count: int, item_bytes: int, acc_bytes: int, place: Place, limits: Limits) -> Plan:
    """Blocks of at least 16 KiB; many pieces, so that one is put while one is added up, but each hides its fence."""
    n_pes = place.n_pes
    n_blocks = min(limits.max_blocks, max(1, count * item_bytes // 16384))
    largest = min(limits.buffer_bytes // 2 // n_pes // item_bytes, MAX_PIECE_BYTES // item_bytes)
    share = -(-count // n_blocks)
    piece = cut(count, n_blocks, min(largest, max(share // PIECES, MIN_PIECE_BYTES // item_bytes)))
    return Plan(n_blocks, piece)


ALGORITHM = Algorithm(
    name="one_shot",
    sentence="everything to everybody, piece by piece with a signal each; one hop",
    needs="none",
    kernel=one_shot,
    plan=plan,
    signals=lambda place: 2 * place.n_pes,
    slots=lambda place, limits: 2 * place.n_pes,
    holds=ELEMENTS,
    outbox=False,
    refuse=anywhere,
    residual=True,
)
