"""Double binary tree: half of the vector up and down each of two trees, in pieces; 2 log2 n latency steps.

Source: Sanders, Speck and Traeff (2009), NCCL 2.4; the trees are in ``trees.py``.  Four pieces of a tree are under way: a
PE sends the next three up before it waits for the result of a piece.  All PEs have the same bits: the root completes a
piece, and all others copy it.
"""

import math
from typing import NamedTuple

from ..algorithm import PARTIALS, Algorithm, Plan, ToCut, Topology
from ..block import copy, put_signal, read_peer, reduce, reduce_and_round, reduce_partials, to_partials, wait
from ..cost import Counts, Machine, Size
from ..plans import MIN_PIECE_BYTES, cut
from ..records import PE, Message, Reduction, Slots, Work
from ..slots import block_words, half_buffer, half_buffer_bytes, slot_at, slots_in, word
from ..steps import first_round, piece, store_epoch
from ..trees import LINKS, TREES, double_tree

HALF_BUFFERS = 4  # pieces of a tree under way
LATE = HALF_BUFFERS - 1  # rounds after which a piece's result is waited for
SLOTS = 3  # of a half buffer of a tree: what comes from the first child, the second, the parent
FROM_PARENT = 2


class Messages(NamedTuple):
    """Where the messages of an epoch in one tree are: (3,) slots in the inbox, a slot in the outbox, and (3,) words."""

    given: Slots
    part: int
    words: int


def messages(work: Work, tree: int, epoch: int) -> Messages:
    """A PE sends piece e once it has the result of piece e-4, so its parent has read e-4, and its children, whose piece
    e it has waited for, have read that result too: four half buffers are enough, up and down, and four sets of words."""
    slots = slots_in(work.inbox + half_buffer(work, epoch), half_buffer_bytes(work), TREES * SLOTS)
    given = Slots(slot_at(slots, tree * SLOTS), slots.nbytes)
    words = block_words(work, HALF_BUFFERS * TREES * SLOTS)
    return Messages(given, given.address - work.inbox + work.outbox, word(words, ((epoch & 3) * TREES + tree) * SLOTS))


def send_up(pe: PE, call: Reduction, work: Work, start: int, epoch: int):
    """In each tree: add the children's pieces to this PE's, and send the sum to the parent, or from the root down."""
    for tree in range(TREES):
        links = word(work.peer_table, tree * LINKS)
        parent, child = read_peer(links, 0), read_peer(links, 1)
        other, which = read_peer(links, 2), read_peer(links, 3)
        now, own = messages(work, tree, epoch), piece(call, start, tree)
        src, n, given = own.src, own.n_elems, now.given.address
        if child >= 0:
            wait(pe.ctx, now.words, epoch, child)
        if parent < 0:
            reduce_and_round(pe.ctx, now.part, given, src, n)
            down, arrived = slot_at(now.given, FROM_PARENT), word(now.words, FROM_PARENT)
            put_signal(pe.ctx, Message(down, now.part, n * call.item_bytes, child), arrived, epoch)
            copy(own.out, now.part, n * call.item_bytes)
        else:
            if child >= 0:
                reduce(pe.ctx, now.part, given, src, n)
            else:
                to_partials(pe.ctx, now.part, src, n)
            if other >= 0:
                wait(pe.ctx, word(now.words, 1), epoch, other)
                reduce_partials(pe.ctx, now.part, now.part, slot_at(now.given, 1), n)
            up, arrived = slot_at(now.given, which), word(now.words, which)
            put_signal(pe.ctx, Message(up, now.part, n * call.acc_bytes, parent), arrived, epoch)


def send_down(pe: PE, call: Reduction, work: Work, start: int, epoch: int):
    """In each tree: pass the result from the parent on to the children."""
    for tree in range(TREES):
        links = word(work.peer_table, tree * LINKS)
        parent = read_peer(links, 0)
        if parent >= 0:
            now, own = messages(work, tree, epoch), piece(call, start, tree)
            result, arrived = slot_at(now.given, FROM_PARENT), word(now.words, FROM_PARENT)
            nbytes = own.nbytes
            wait(pe.ctx, arrived, epoch, parent)
            for k in range(1, 3):
                child = read_peer(links, k)
                if child >= 0:
                    put_signal(pe.ctx, Message(result, result, nbytes, child), arrived, epoch)
            copy(own.out, result, nbytes)


def tree(pe: PE, call: Reduction, work: Work):
    """out (n_elems,) = op over all PEs of src (n_elems,); out may be src.

    inbox   (blocks, 4 half buffers), a half buffer holds (2 trees, 3 slots)
    outbox  (blocks, 4 half buffers), a half buffer holds (2 trees, 3 slots) of which the first is used
    signals (blocks, 4 half buffers, 2 trees, 3 slots) words
    peer_table  (2 trees, 4) words: parent, first child, second child, which child of its parent
    """
    round_elems = TREES * call.piece_elems
    epoch, start, stride = first_round(work, round_elems)
    while start < call.n_elems + LATE * stride:
        epoch, late = epoch + 1, start - LATE * stride
        if start < call.n_elems:
            send_up(pe, call, work, start, epoch)
        if 0 <= late and late < call.n_elems:
            send_down(pe, call, work, late, epoch - LATE)
        start += stride
    store_epoch(work, epoch - LATE)


def trees_plan(call: ToCut) -> Plan:
    """Blocks of at least 16 KiB in each tree; eight pieces a block and tree, or more."""
    n_blocks = call.blocks(TREES * MIN_PIECE_BYTES)
    wanted = max(call.n_elems // (TREES * n_blocks) // 8, MIN_PIECE_BYTES // call.item_bytes)
    return Plan(n_blocks, cut(call.n_elems, TREES * n_blocks, min(call.slot_elems(), wanted)))


def cost_us(size: Size, topology: Topology, machine: Machine) -> float:
    """Up and down two trees, each with half of the vector, whose levels lie inside nodes and between them."""
    n_nodes, local = topology.n_nodes, topology.largest_node
    links = min(n_nodes, 3) / (2 + 2 * (topology.n_rails == local)) * (n_nodes > 1)
    return machine.call_us(Counts(
        rounds=size.rounds(2), near_steps=2 * math.ceil(math.log2(local)), net_steps=2 * math.ceil(math.log2(n_nodes)),
        messages=4, sent=(1 + size.widening) * size.nbytes, nic=(1 + size.widening) * links * size.nbytes,
        moved=1.5 * size.nbytes, added=size.nbytes, overlaps=True,
    ))  # fmt: skip


ALGORITHM = Algorithm(
    tree, trees_plan, slots=lambda topology, limits: 2 * TREES * SLOTS, holds=PARTIALS,
    signals=lambda topology: HALF_BUFFERS * TREES * SLOTS, shares=lambda topology: TREES, cost_us=cost_us,
    peer_table=double_tree,
)  # fmt: skip
