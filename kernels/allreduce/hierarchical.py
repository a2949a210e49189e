"""Hierarchical AllReduce: reduce-scatter in the node, all-reduce between nodes, all-gather in the node; four steps.

Source: Penny, part 3.  Every PE owns the slice of its local rank, 1/M of the vector on nodes of M PEs.  Every rail
carries 2 (N-1)/(N M) of the vector (3 (N-1)/(N M) for 16-bit floats, whose partials are float32).

All PEs have the same bits: one PE completes each chunk, by adding the PEs of each node in order, then the nodes in order,
and rounds it once; all others copy it.
"""

from typing import NamedTuple

from ..algorithm import PARTIALS, Algorithm, Plan, ToCut, Topology, per_pe
from ..block import copy, put, put_signal, read_peer, reduce, stage_for_put, to_partials
from ..cost import Counts, Machine, Size
from ..groups import Group, Sum, add_up, member, node_of, peer_table, rail_peers_of, signal_group, wait_group, why_not
from ..plans import MIN_BLOCK_BYTES, cut_evenly
from ..records import PE, Message, Piece, Reduction, Slots, Work
from ..slots import inbox_of, outbox_of, slot_at, word, words
from ..steps import load_epoch, piece, piece_from, rounds, store_epoch


class SliceBuffers(NamedTuple):
    """The memory of a block's round, which begins at element ``start``: (n_local slices, n_nodes chunks).

    inbox:    slots for a slice each: the parts of this PE's slice (n_local,), a slot that ``partials`` divides, this PE's
              complete slice, and the complete slices of the node's PEs (n_local,)
    outbox:   slots for a slice each: partials of this PE's slice, then (n_local,) for ``stage_for_put``
    partials: slots for a chunk each in the inbox, (n_nodes,): one for each rail peer
    words:    address of signals: parts (n_local,), partials (n_nodes,), complete chunks (n_nodes,), slices (n_local,)
    """

    epoch: int
    start: int
    slice_elems: int
    inbox: Slots
    outbox: Slots
    partials: Slots
    words: int


def buffers_of(call: Reduction, work: Work, groups: tuple[Group, Group], start: int, epoch: int) -> SliceBuffers:
    """The memory of epoch e.  A PE sends a slice of epoch e+1 after it has received messages of e+1 that depend on every
    PE, so all PEs have read epoch e: two buffers and two sets of words suffice."""
    node, rail_peers = groups
    slice_elems = rail_peers.n * call.piece_elems
    inbox = Slots(inbox_of(work, epoch), slice_elems * call.acc_bytes)
    outbox = Slots(outbox_of(work, epoch), inbox.nbytes)
    partials = Slots(slot_at(inbox, node.n), call.piece_elems * call.acc_bytes)
    own_words = words(work, epoch, 2 * (node.n + rail_peers.n))
    return SliceBuffers(epoch, start, slice_elems, inbox, outbox, partials, own_words)


def slice_of(call: Reduction, buffers: SliceBuffers, k: int) -> Piece:
    """Slice k of a round."""
    begin = buffers.start + k * buffers.slice_elems
    return piece_from(call, begin, max(0, min(buffers.slice_elems, call.n_elems - begin)))


def reduce_in_node(pe: PE, call: Reduction, node: Group, buffers: SliceBuffers):
    """Every PE gets its slice from all PEs of its node, and adds it up in their order."""
    for k in range(1, node.n):
        rank = member(node, k)
        part, to = slice_of(call, buffers, rank), read_peer(node.pes, rank)
        source = stage_for_put(pe.ctx, slot_at(buffers.outbox, 1 + rank), part.src, part.nbytes, to)
        put(pe.ctx, slot_at(buffers.inbox, node.rank), source, part.nbytes, to)
    signal_group(pe, node, buffers.words, buffers.epoch)  # its fence frees the staging buffers
    own, added = slice_of(call, buffers, node.rank), buffers.outbox.address
    wait_group(pe, node, buffers.words, buffers.epoch)
    for rank in range(node.n):
        elements = own.src if rank == node.rank else slot_at(buffers.inbox, rank)
        if rank == 0:
            to_partials(pe.ctx, added, elements, own.n_elems)
        else:
            reduce(pe.ctx, added, added, elements, own.n_elems)


def reduce_between_nodes(pe: PE, call: Reduction, node: Group, rail_peers: Group, buffers: SliceBuffers):
    """Every rail peer gets its chunk of the slice from all rail peers, and adds it up in their order."""
    added = Slots(buffers.outbox.address, buffers.partials.nbytes)  # (n_nodes,)
    start, arrived = buffers.start + node.rank * buffers.slice_elems, word(buffers.words, node.n)
    for k in range(1, rail_peers.n):
        rank = member(rail_peers, k)
        nbytes, slot = piece(call, start, rank).n_elems * call.acc_bytes, slot_at(buffers.partials, rail_peers.rank)
        signal_word, to = word(arrived, rail_peers.rank), read_peer(rail_peers.pes, rank)
        put_signal(pe.ctx, Message(slot, slot_at(added, rank), nbytes, to), signal_word, buffers.epoch)
    wait_group(pe, rail_peers, arrived, buffers.epoch)
    total = slot_at(buffers.inbox, node.n + 1) + rail_peers.rank * call.piece_elems * call.item_bytes
    n = piece(call, start, rail_peers.rank).n_elems
    add_up(pe, rail_peers, Sum(total, slot_at(added, rail_peers.rank), buffers.partials, n))


def gather_between_nodes(pe: PE, call: Reduction, node: Group, rail_peers: Group, buffers: SliceBuffers):
    """Every rail peer puts its complete chunk to all rail peers."""
    arrived = word(buffers.words, node.n + rail_peers.n)
    chunk = slot_at(buffers.inbox, node.n + 1) + rail_peers.rank * call.piece_elems * call.item_bytes
    nbytes = piece(call, buffers.start + node.rank * buffers.slice_elems, rail_peers.rank).nbytes
    for k in range(1, rail_peers.n):
        to = read_peer(rail_peers.pes, member(rail_peers, k))
        put_signal(pe.ctx, Message(chunk, chunk, nbytes, to), word(arrived, rail_peers.rank), buffers.epoch)
    wait_group(pe, rail_peers, arrived, buffers.epoch)


def gather_in_node(pe: PE, call: Reduction, node: Group, rail_peers: Group, buffers: SliceBuffers):
    """Every PE puts its whole slice to all PEs of its node."""
    own, arrived = slice_of(call, buffers, node.rank), word(buffers.words, node.n + 2 * rail_peers.n)
    whole, slices = slot_at(buffers.inbox, node.n + 1), Slots(slot_at(buffers.inbox, node.n + 2), buffers.inbox.nbytes)
    for k in range(1, node.n):
        put(pe.ctx, slot_at(slices, node.rank), whole, own.nbytes, read_peer(node.pes, member(node, k)))
    signal_group(pe, node, arrived, buffers.epoch)
    copy(own.out, whole, own.nbytes)
    wait_group(pe, node, arrived, buffers.epoch)
    for k in range(1, node.n):
        rank = member(node, k)
        peer_slice = slice_of(call, buffers, rank)
        copy(peer_slice.out, slot_at(slices, rank), peer_slice.nbytes)


def hierarchical(pe: PE, call: Reduction, work: Work):
    """out (n_elems,) = op over all PEs of src (n_elems,); out may be src.

    The vector is cut into n_local slices of n_nodes chunks of piece_elems.
    inbox   (blocks, 2 buffers), a buffer holds parts (n_local, slice), partials (n_nodes, chunk), one whole slice, and
            slices (n_local, slice)
    outbox  (blocks, 2 buffers): the partials of a slice, then (n_local, slice) that parts start from
    signals (blocks, 2, n_local + n_nodes + n_nodes + n_local) words: a part, partial, chunk, slice has arrived
    peer_table  (4 + n_local + n_nodes,) words: n_nodes, n_local, this node, this local rank; PEs of the node; rail peers
    """
    node, rail_peers = node_of(work), rail_peers_of(work)
    epoch = load_epoch(work)
    for start in rounds(call.n_elems, pe.n_pes * call.piece_elems):
        epoch += 1
        buffers = buffers_of(call, work, (node, rail_peers), start, epoch)
        reduce_in_node(pe, call, node, buffers)
        reduce_between_nodes(pe, call, node, rail_peers, buffers)
        gather_between_nodes(pe, call, node, rail_peers, buffers)
        gather_in_node(pe, call, node, rail_peers, buffers)
    store_epoch(work, epoch)


def even_plan(call: ToCut) -> Plan:
    """Blocks of at least 16 KiB, pieces as large as a buffer allows."""
    n_blocks = call.blocks(MIN_BLOCK_BYTES)
    return Plan(n_blocks, cut_evenly(call.n_elems, call.shares * n_blocks, call.slot_elems()))


def cost_us(size: Size, topology: Topology, machine: Machine) -> float:
    """Two latency steps in a node send a slice to each PE, and two between nodes a chunk of a slice to each node."""
    local, n_nodes = topology.largest_node, topology.n_nodes
    between = (n_nodes - 1) / (n_nodes * local)
    return machine.call_us(Counts(
        rounds=size.rounds(topology.n_pes), near_steps=2, net_steps=2, messages=2 * (local - 1) + 2 * (n_nodes - 1),
        sent=2 * (local - 1) / local * size.nbytes,
        nic=(1 + size.widening) * between * size.nbytes * local / topology.n_rails,
        moved=(local + 1) / local * size.nbytes, added=((local - 1) / local + between) * size.nbytes,
    ))  # fmt: skip


ALGORITHM = Algorithm(
    hierarchical, even_plan, slots=lambda topology, limits: 2 * (topology.n_pes + len(topology.nodes)), holds=PARTIALS,
    signals=lambda topology: 2 * 2 * (len(topology.nodes[0]) + len(topology.nodes)), shares=per_pe(1), why_not=why_not,
    cost_us=cost_us, peer_table=peer_table,
)  # fmt: skip
