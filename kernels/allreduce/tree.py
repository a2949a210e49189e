"""Double binary tree: half of the vector up and down one tree, half in the other, piece after piece.

Source: Sanders, Speck and Traeff (2009), NCCL 2.4; the trees are in ``trees.py``.  A PE
that passes two children's pieces on in one tree is a leaf in the other, so that both
trees together send as much as one ring would, over log2 n hops each way.

Four pieces of a tree are under way: a PE sends the next three up before it waits for
the result of a piece.  A piece is completed by the root, once, and its bits go down.

Cost of P bytes in K pieces a tree, w = acc_bytes / item_bytes, d = ceil(log2 n):
2 d (alpha + P / (2 K) beta) + (1 + w) P beta + P gamma.
"""

from ..algorithm import PARTIALS, Algorithm, Limits, Place, Plan, anywhere, cut
from ..block import (
    block,
    blocks,
    copy,
    finish,
    merge,
    put_signal,
    read_epoch,
    read_route,
    reduce,
    wait,
    widen,
    write_epoch,
)
from ..trees import TREES, WAYS, double_tree

TURNS = 4  # pieces of a tree under way
LATE = TURNS - 1  # a piece's result is waited for so many pieces later
SLOTS = 3  # of a turn of a tree: what comes from the first child, the second, the parent
PIECES, MIN_PIECE_BYTES = 8, 16384


def tree(
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
    """out (count,) = op over all PEs of src (count,); out may be src.

    inbox   (blocks, 4 turns, buffer_bytes / 2), a turn holds (2 trees, 3 slots)
    outbox  (blocks, 4 turns, buffer_bytes / 2), a turn holds (2 trees, 3 slots) of which the first is used
    signals (blocks, 4 turns, 2 trees, 3 slots) words
    ways    (2 trees, 4) words: parent, first child, second child, which child of its parent
    """
    turn_bytes = buffer_bytes * 2 // TURNS
    slot_bytes = turn_bytes // (TREES * SLOTS) // 16 * 16
    turns = block() * 2 * buffer_bytes
    arrived = signals + block() * TURNS * TREES * SLOTS * 8
    stride = blocks() * TREES * piece_elems
    sent = epoch = read_epoch(epochs, block())
    low = block() * TREES * piece_elems
    while low < count + LATE * stride:
        # A PE sends piece e once it has the result of piece e-4, so its parent has read e-4, and its children,
        # whose piece e it has waited for, have read that result as well: four turns are enough, up and down, of slots
        # and words.
        if low < count:
            sent += 1
            for one in range(TREES):
                parent, child = read_route(routes, one * WAYS), read_route(routes, one * WAYS + 1)
                other, slot = read_route(routes, one * WAYS + 2), read_route(routes, one * WAYS + 3)
                words = arrived + ((sent % TURNS) * TREES + one) * SLOTS * 8
                at = turns + (sent % TURNS) * turn_bytes + one * SLOTS * slot_bytes
                part, given = outbox + at, inbox + at
                start = low + one * piece_elems
                n = max(0, min(piece_elems, count - start))
                own = src + start * item_bytes
                if child >= 0:
                    wait(ctx, words, sent, child)
                if parent < 0:
                    finish(ctx, part, given, own, n)
                    put_signal(ctx, given + 2 * slot_bytes, part, n * item_bytes, words + 16, sent, child)
                    copy(out + start * item_bytes, part, n * item_bytes)
                else:
                    if child >= 0:
                        reduce(ctx, part, given, own, n)
                    else:
                        widen(ctx, part, own, n)
                    if other >= 0:
                        wait(ctx, words + 8, sent, other)
                        merge(ctx, part, part, given + slot_bytes, n)
                    put_signal(ctx, given + slot * slot_bytes, part, n * acc_bytes, words + slot * 8, sent, parent)
        before = low - LATE * stride
        if 0 <= before and before < count:
            epoch += 1
            for one in range(TREES):
                parent = read_route(routes, one * WAYS)
                words = arrived + ((epoch % TURNS) * TREES + one) * SLOTS * 8
                result = inbox + turns + (epoch % TURNS) * turn_bytes + (one * SLOTS + 2) * slot_bytes
                start = before + one * piece_elems
                n = max(0, min(piece_elems, count - start))
                if parent >= 0:
                    wait(ctx, words + 16, epoch, parent)
                    for k in range(1, 3):
                        child = read_route(routes, one * WAYS + k)
                        if child >= 0:
                            put_signal(ctx, result, result, n * item_bytes, words + 16, epoch, child)
                    copy(out + start * item_bytes, result, n * item_bytes)
        low += stride
    write_epoch(epochs, block(), epoch)


def plan(count: int, item_bytes: int, acc_bytes: int, place: Place, limits: Limits) -> Plan:
    """Blocks of at least 16 KiB in each tree; eight pieces a block and tree, or more."""
    n_blocks = min(limits.max_blocks, max(1, count * item_bytes // (TREES * MIN_PIECE_BYTES)))
    largest = limits.buffer_bytes * 2 // TURNS // (TREES * SLOTS) // acc_bytes
    share = count // (TREES * n_blocks)
    wanted = max(share // PIECES, MIN_PIECE_BYTES // item_bytes)
    return Plan(n_blocks, cut(count, TREES * n_blocks, min(largest, wanted)))


ALGORITHM = Algorithm(
    name="tree",
    sentence="two binary trees with half of the vector each, up and down in pieces; 2 log2 n hops, 2 of the vector",
    needs="none",
    kernel=tree,
    plan=plan,
    signals=lambda place: TURNS * TREES * SLOTS,
    slots=lambda place, limits: TURNS // 2 * TREES * SLOTS,
    holds=PARTIALS,
    refuse=anywhere,
    routes=double_tree,
)
