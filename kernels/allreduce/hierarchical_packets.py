"""Hierarchical AllReduce by packets: packets in the nodes, slices between them; three latency steps.

Source: ``hierarchical`` with one latency step between nodes in place of two: the PEs of a local rank send each other
whole slices, and all add them up.  Inside a node it works as ``two_shot_packets``.

All PEs have the same bits: the PEs of a node are added in order, then the nodes in order, by the owner of the slice on
every node, from the same partials.
"""

from typing import NamedTuple

from ..algorithm import PACKETS, Algorithm, Topology, requires_ll128_in_nodes
from ..block import copy, put_signal, read_peer, receive_packets, reduce, send_packets, to_partials
from ..cost import Counts, Machine, Size
from ..groups import Group, Sum, add_up, member, node_of, peer_table, rail_peers_of, wait_group, why_not
from ..plans import packet_plan
from ..records import PE, Message, Reduction, Slots, Work
from ..slots import outbox_of, packet_slots, slot_at, word, words
from ..steps import load_epoch, piece, rounds, store_epoch


class SlicePackets(NamedTuple):
    """The memory of a block's round, which begins at element ``start``: (n_local slices).

    slots:    slots of packets, (2 n_local,): this PE's slice from each PE of the node, then complete slices
    partials: slots for a slice of partials each, (n_nodes,): one for each rail peer
    words:    address of (n_nodes,) signals: a partial has arrived
    outbox:   slots: partials of this PE's slice (two slots), the elements of one PE, the complete slice
    """

    epoch: int
    start: int
    slots: Slots
    partials: Slots
    words: int
    outbox: Slots


def buffers_of(work: Work, node: Group, rail_peers: Group, start: int, epoch: int) -> SlicePackets:
    """The memory of epoch e.  A PE sends for e+1 after it has read all of e: two buffers and sets of words suffice."""
    slots = packet_slots(work, epoch, 2 * (node.n + rail_peers.n))
    partials = Slots(slot_at(slots, 2 * node.n), 2 * slots.nbytes)  # a partial may be twice an element
    outbox = Slots(outbox_of(work, epoch), slots.nbytes)
    return SlicePackets(epoch, start, slots, partials, words(work, epoch, rail_peers.n), outbox)


def reduce_in_node(pe: PE, call: Reduction, node: Group, buffers: SlicePackets):
    """Every PE gets its slice from all PEs of its node, and adds it up in their order."""
    for k in range(1, node.n):
        rank = member(node, k)
        part, to = piece(call, buffers.start, rank), read_peer(node.pes, rank)
        send_packets(pe.ctx, Message(slot_at(buffers.slots, node.rank), part.src, part.nbytes, to), buffers.epoch)
    own, added = piece(call, buffers.start, node.rank), buffers.outbox.address
    for rank in range(node.n):
        elements = own.src
        if rank != node.rank:
            elements, source = slot_at(buffers.outbox, 2), read_peer(node.pes, rank)
            receive_packets(pe.ctx, Message(elements, slot_at(buffers.slots, rank), own.nbytes, source), buffers.epoch)
        if rank == 0:
            to_partials(pe.ctx, added, elements, own.n_elems)
        else:
            reduce(pe.ctx, added, added, elements, own.n_elems)


def reduce_between_nodes(pe: PE, call: Reduction, node: Group, rail_peers: Group, buffers: SlicePackets):
    """Every rail peer gets the slice from all rail peers, and adds it up in their order."""
    n, added = piece(call, buffers.start, node.rank).n_elems, buffers.outbox.address
    for k in range(1, rail_peers.n):
        to = read_peer(rail_peers.pes, member(rail_peers, k))
        slot, arrived = slot_at(buffers.partials, rail_peers.rank), word(buffers.words, rail_peers.rank)
        put_signal(pe.ctx, Message(slot, added, n * call.acc_bytes, to), arrived, buffers.epoch)
    wait_group(pe, rail_peers, buffers.words, buffers.epoch)
    add_up(pe, rail_peers, Sum(slot_at(buffers.outbox, 3), added, buffers.partials, n))


def gather_in_node(pe: PE, call: Reduction, node: Group, buffers: SlicePackets):
    """Every PE sends its slice to all PEs of its node."""
    own, whole = piece(call, buffers.start, node.rank), slot_at(buffers.outbox, 3)
    for k in range(1, node.n):
        to = read_peer(node.pes, member(node, k))
        send_packets(pe.ctx, Message(slot_at(buffers.slots, node.n + node.rank), whole, own.nbytes, to), buffers.epoch)
    copy(own.out, whole, own.nbytes)
    for k in range(1, node.n):
        rank = member(node, k)
        peer_slice, source = piece(call, buffers.start, rank), read_peer(node.pes, rank)
        slot = slot_at(buffers.slots, node.n + rank)
        receive_packets(pe.ctx, Message(peer_slice.out, slot, peer_slice.nbytes, source), buffers.epoch)


def hierarchical_packets(pe: PE, call: Reduction, work: Work):
    """out (n_elems,) = op over all PEs of src (n_elems,); out may be src.

    The vector is cut into n_local slices of piece_elems.
    inbox   (blocks, 2 buffers), a buffer holds parts (n_local,) and results (n_local,), slots of packets, and partials
            (n_nodes,) of two slots each
    outbox  (blocks, 2 buffers): the partials of a slice, the elements of one PE, the result
    signals (blocks, 2, n_nodes) words: a partial has arrived
    peer_table  as in ``hierarchical``
    """
    node, rail_peers = node_of(work), rail_peers_of(work)
    epoch = load_epoch(work)
    for start in rounds(call.n_elems, node.n * call.piece_elems):
        epoch += 1
        buffers = buffers_of(work, node, rail_peers, start, epoch)
        reduce_in_node(pe, call, node, buffers)
        reduce_between_nodes(pe, call, node, rail_peers, buffers)
        gather_in_node(pe, call, node, buffers)
    store_epoch(work, epoch)


def refuses(topology: Topology, dtype: str, op: str) -> str | None:
    """The reason why ``hierarchical``, or packets inside the nodes, can't run, or None."""
    return why_not(topology, dtype, op) or requires_ll128_in_nodes(topology)


def cost_us(size: Size, topology: Topology, machine: Machine) -> float:
    """Two latency steps of packets inside a node, and one between nodes, which sends a whole slice to each node."""
    local, n_nodes = topology.largest_node, topology.n_nodes
    between = (n_nodes - 1) / local
    return machine.call_us(Counts(
        rounds=size.rounds(local), near_steps=2, net_steps=1, messages=2 * (local - 1) + n_nodes - 1,
        sent=2 * (local - 1) / local * size.nbytes, nic=size.widening * between * size.nbytes * local / topology.n_rails,
        moved=(local + 1) / local * size.nbytes, added=((local - 1) / local + between) * size.nbytes, packets=True,
    ))  # fmt: skip


ALGORITHM = Algorithm(
    hierarchical_packets, packet_plan, slots=lambda topology, limits: 2 * (len(topology.nodes[0]) + len(topology.nodes)),
    holds=PACKETS, signals=lambda topology: 2 * len(topology.nodes), shares=lambda topology: topology.largest_node,
    why_not=refuses, cost_us=cost_us, peer_table=peer_table,
)  # fmt: skip
