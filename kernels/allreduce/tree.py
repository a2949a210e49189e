"""Double binary tree: half of the vector up and down each of two trees, in pieces; 2 log2 n latency steps.

Source: Sanders, Speck and Traeff (2009), NCCL 2.4; the trees are in ``trees.py``.  Four pieces of each tree are under
way: a PE sends three further pieces up before it waits for the result of a piece.  All PEs have the same bits: the root
computes the result of a piece, and all other PEs copy it.
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
LATE = HALF_BUFFERS - 1  # rounds between sending a piece up and waiting for its result
SLOTS = 3  # slots of a half buffer of a tree: from the first child, the second child, the parent
FROM_PARENT = 2


class TreeBuffers(NamedTuple):
    """The memory of an epoch in one tree: (3,) slots of the inbox, a slot of the outbox, and (3,) signal words."""

    received: Slots
    part: int
    words: int


def buffers_of(work: Work, tree: int, epoch: int) -> TreeBuffers:
    """The memory of an epoch in a tree.

    Four half buffers and four sets of words suffice.  Up: a PE sends piece e after it has received the result of e-4,
    so its parent has read piece e-4.  Down: a PE sends result e after it has received its children's pieces e, which
    they sent after they had read result e-4.
    """
    slots = slots_in(work.inbox + half_buffer(work, epoch), half_buffer_bytes(work), TREES * SLOTS)
    received = Slots(slot_at(slots, tree * SLOTS), slots.nbytes)
    words = word(block_words(work, HALF_BUFFERS * TREES * SLOTS), ((epoch & 3) * TREES + tree) * SLOTS)
    return TreeBuffers(received, received.address - work.inbox + work.outbox, words)


def send_up(pe: PE, call: Reduction, work: Work, start: int, epoch: int):
    """In each tree: add the children's pieces to this PE's piece, and send the sum up; the root sends it down."""
    for tree in range(TREES):
        links = word(work.peer_table, tree * LINKS)
        parent, first_child = read_peer(links, 0), read_peer(links, 1)
        second_child, child_index = read_peer(links, 2), read_peer(links, 3)
        buffers, own = buffers_of(work, tree, epoch), piece(call, start, tree)
        src, n, received = own.src, own.n_elems, buffers.received.address
        if first_child >= 0:
            wait(pe.ctx, buffers.words, epoch, first_child)
        if parent < 0:
            reduce_and_round(pe.ctx, buffers.part, received, src, n)
            down, arrived = slot_at(buffers.received, FROM_PARENT), word(buffers.words, FROM_PARENT)
            put_signal(pe.ctx, Message(down, buffers.part, n * call.item_bytes, first_child), arrived, epoch)
            copy(own.out, buffers.part, n * call.item_bytes)
        else:
            if first_child >= 0:
                reduce(pe.ctx, buffers.part, received, src, n)
            else:
                to_partials(pe.ctx, buffers.part, src, n)
            if second_child >= 0:
                wait(pe.ctx, word(buffers.words, 1), epoch, second_child)
                reduce_partials(pe.ctx, buffers.part, buffers.part, slot_at(buffers.received, 1), n)
            up, arrived = slot_at(buffers.received, child_index), word(buffers.words, child_index)
            put_signal(pe.ctx, Message(up, buffers.part, n * call.acc_bytes, parent), arrived, epoch)


def send_down(pe: PE, call: Reduction, work: Work, start: int, epoch: int):
    """In each tree: pass the result from the parent on to the children."""
    for tree in range(TREES):
        links = word(work.peer_table, tree * LINKS)
        parent = read_peer(links, 0)
        if parent >= 0:
            buffers, own = buffers_of(work, tree, epoch), piece(call, start, tree)
            result, arrived = slot_at(buffers.received, FROM_PARENT), word(buffers.words, FROM_PARENT)
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
    outbox  (blocks, 4 half buffers), a half buffer holds (2 trees, 3 slots); only the first slot is used
    signals (blocks, 4 half buffers, 2 trees, 3 slots) words
    peer_table  (2 trees, 4) words: parent, first child, second child, index of this PE among its parent's children
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
    """Blocks of at least 16 KiB in each tree; at least eight pieces for each block and tree."""
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
