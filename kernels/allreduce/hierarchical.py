"""Hierarchical AllReduce: reduce-scatter in the node, all-reduce between nodes, all-gather in the node; four steps.

Source: Penny, part 3.  Every PE owns the slice of its local rank, 1/M of the vector
on nodes of M PEs.  It adds up its node's slice, exchanges it with the PEs of its
local rank on the other N-1 nodes (reduce-scatter, then all-gather, one latency step each),
and hands the result to its node.  That takes four latency steps at any number of nodes, and
every rail carries 2 (N-1)/(N M) of the vector (3 (N-1)/(N M) for 16-bit floats, whose partials are float32).

All PEs have the same bits: one PE completes each chunk, by adding the PEs of each node in
order, then the nodes in order, and rounds it once; all others copy it.
"""

from typing import NamedTuple

from ..algorithm import PARTIALS, Algorithm, Plan, ToCut, Topology, per_pe
from ..block import copy
from ..cost import Machine, Size
from ..elements import reduce, reduce_partials, reduce_partials_and_round, to_partials
from ..messages import fence, put, put_signal, read_peer, signal, stage_for_put, wait
from ..plans import MIN_BLOCK_BYTES, cut_evenly
from ..records import PE, Reduction, Work
from ..slots import Slots, inbox_of, outbox_of, slot_at, word, words
from ..steps import Piece, after, load_epoch, piece, piece_from, rounds, store_epoch


class Group(NamedTuple):
    """n PEs that exchange with each other; this one is number ``rank`` among them.  pes: (n,) words, their numbers"""

    pes: int
    n: int
    rank: int


class Groups(NamedTuple):
    """The PEs of this node, and its rail peers: the PEs of its local rank, one of each node."""

    node: Group
    rail_peers: Group


class Round(NamedTuple):
    """A round of a block: (n_local slices, n_nodes chunks) from element ``start`` on, this PE's slice at ``own_start``.

    parts:    (n_local, slice) of elements: of this PE's slice, from each PE of the node
    partials: (n_nodes, chunk): of this PE's chunk, from each rail peer
    whole:    this PE's slice, of elements;  slices: (n_local, slice), from each PE of the node
    added:    this PE's slice, of partials, and staging: (n_local, slice) for ``stage_for_put``, both in the outbox
    part_words (n_local,), partial_words (n_nodes,), chunk_words (n_nodes,), slice_words (n_local,): signals of arrival
    """

    epoch: int
    start: int
    own_start: int
    slice_elems: int
    parts: Slots
    partials: Slots
    whole: int
    slices: Slots
    added: int
    staging: Slots
    part_words: int
    partial_words: int
    chunk_words: int
    slice_words: int


def other(group: Group, k: int) -> int:
    """Number in the group of the k-th PE after this one."""
    return after(group.rank, k, group.n)


def signal_group(pe: PE, group: Group, words: int, epoch: int):
    """Fence, then set word ``rank`` of ``words`` on the other PEs of a group: this block's puts have arrived."""
    fence(pe.ctx)
    for k in range(1, group.n):
        signal(pe.ctx, word(words, group.rank), epoch, read_peer(group.pes, other(group, k)))


def wait_group(pe: PE, group: Group, words: int, epoch: int):
    """Wait for the words (n,) of the other PEs of a group."""
    for k in range(1, group.n):
        source = other(group, k)
        wait(pe.ctx, word(words, source), epoch, read_peer(group.pes, source))


def round_of(call: Reduction, work: Work, groups: Groups, start: int, epoch: int) -> Round:
    """Two buffers and two sets of words are enough: a slice of round e+1 comes from a PE that has heard from every PE in
    round e+1, so all PEs have read round e."""
    node, rail_peers = groups.node, groups.rail_peers
    chunk_bytes = call.piece_elems * call.acc_bytes
    slice_elems, slice_bytes = rail_peers.n * call.piece_elems, rail_peers.n * chunk_bytes
    parts, added = inbox_of(work, epoch), outbox_of(work, epoch)
    partials = parts + node.n * slice_bytes
    whole = partials + slice_bytes
    part_words = words(work, epoch, 2 * (node.n + rail_peers.n))
    return Round(
        epoch,
        start,
        start + node.rank * slice_elems,
        slice_elems,
        Slots(parts, slice_bytes),
        Slots(partials, chunk_bytes),
        whole,
        Slots(whole + slice_bytes, slice_bytes),
        added,
        Slots(added + slice_bytes, slice_bytes),
        part_words,
        word(part_words, node.n),
        word(part_words, node.n + rail_peers.n),
        word(part_words, node.n + 2 * rail_peers.n),
    )


def slice_of(call: Reduction, now: Round, k: int) -> Piece:
    """Slice k of a round."""
    begin = now.start + k * now.slice_elems
    return piece_from(call, begin, max(0, min(now.slice_elems, call.n_elems - begin)))


def reduce_in_node(pe: PE, call: Reduction, node: Group, now: Round):
    """Every PE gets its slice from all PEs of its node, and adds it up in their order."""
    for k in range(1, node.n):
        rank = other(node, k)
        part, to = slice_of(call, now, rank), read_peer(node.pes, rank)
        source = stage_for_put(pe.ctx, slot_at(now.staging, rank), part.src, part.nbytes, to)
        put(pe.ctx, slot_at(now.parts, node.rank), source, part.nbytes, to)
    signal_group(pe, node, now.part_words, now.epoch)  # its fence frees the staging buffers
    own = slice_of(call, now, node.rank)
    wait_group(pe, node, now.part_words, now.epoch)
    for rank in range(node.n):
        elements = own.src if rank == node.rank else slot_at(now.parts, rank)
        if rank == 0:
            to_partials(pe.ctx, now.added, elements, own.n_elems)
        else:
            reduce(pe.ctx, now.added, now.added, elements, own.n_elems)


def reduce_between_nodes(pe: PE, call: Reduction, rail_peers: Group, now: Round):
    """Every rail peer gets its chunk of the slice from all, and adds it up in their order."""
    added = Slots(now.added, now.partials.nbytes)  # (n_nodes,)
    for k in range(1, rail_peers.n):
        rank = other(rail_peers, k)
        nbytes, to = piece(call, now.own_start, rank).n_elems * call.acc_bytes, read_peer(rail_peers.pes, rank)
        arrived = word(now.partial_words, rail_peers.rank)
        put_signal(pe.ctx, slot_at(now.partials, rail_peers.rank), slot_at(added, rank), nbytes, arrived, now.epoch, to)
    wait_group(pe, rail_peers, now.partial_words, now.epoch)
    n = piece(call, now.own_start, rail_peers.rank).n_elems
    total = now.whole + rail_peers.rank * call.piece_elems * call.item_bytes
    left = added.address if rail_peers.rank == 0 else now.partials.address
    for rank in range(1, rail_peers.n):
        right = slot_at(added if rank == rail_peers.rank else now.partials, rank)
        if rank == rail_peers.n - 1:
            reduce_partials_and_round(pe.ctx, total, left, right, n)
        else:
            reduce_partials(pe.ctx, slot_at(now.partials, rail_peers.rank), left, right, n)  # where no peer writes
            left = slot_at(now.partials, rail_peers.rank)


def gather_between_nodes(pe: PE, call: Reduction, rail_peers: Group, now: Round):
    """Every rail peer hands its complete chunk to all."""
    chunk = now.whole + rail_peers.rank * call.piece_elems * call.item_bytes
    nbytes = piece(call, now.own_start, rail_peers.rank).n_elems * call.item_bytes
    for k in range(1, rail_peers.n):
        to = read_peer(rail_peers.pes, other(rail_peers, k))
        put_signal(pe.ctx, chunk, chunk, nbytes, word(now.chunk_words, rail_peers.rank), now.epoch, to)
    wait_group(pe, rail_peers, now.chunk_words, now.epoch)


def gather_in_node(pe: PE, call: Reduction, node: Group, now: Round):
    """Every PE hands its whole slice to all PEs of its node."""
    own = slice_of(call, now, node.rank)
    nbytes = own.nbytes
    for k in range(1, node.n):
        put(pe.ctx, slot_at(now.slices, node.rank), now.whole, nbytes, read_peer(node.pes, other(node, k)))
    signal_group(pe, node, now.slice_words, now.epoch)
    copy(own.out, now.whole, nbytes)
    wait_group(pe, node, now.slice_words, now.epoch)
    for k in range(1, node.n):
        rank = other(node, k)
        theirs = slice_of(call, now, rank)
        copy(theirs.out, slot_at(now.slices, rank), theirs.nbytes)


def hierarchical(pe: PE, call: Reduction, work: Work):
    """out (n_elems,) = op over all PEs of src (n_elems,); out may be src.

    The vector is cut into n_local slices of n_nodes chunks of piece_elems.
    inbox   (blocks, 2 buffers), a buffer holds parts (n_local, slice), partials (n_nodes, chunk), one whole slice, and
            slices (n_local, slice)
    outbox  (blocks, 2 buffers): the partials of a slice, then (n_local, slice) that parts start from
    signals (blocks, 2, n_local + n_nodes + n_nodes + n_local) words: a part, partial, chunk, slice is here
    peer_table  (4 + n_local + n_nodes,) words: n_nodes, n_local, this node, this local rank; PEs of the node; rail peers
    """
    node = Group(word(work.peer_table, 4), read_peer(work.peer_table, 1), read_peer(work.peer_table, 3))
    rail_peers = Group(word(work.peer_table, 4 + node.n), read_peer(work.peer_table, 0), read_peer(work.peer_table, 2))
    epoch = load_epoch(work)
    for start in rounds(call.n_elems, pe.n_pes * call.piece_elems):
        epoch += 1
        now = round_of(call, work, Groups(node, rail_peers), start, epoch)
        reduce_in_node(pe, call, node, now)
        reduce_between_nodes(pe, call, rail_peers, now)
        gather_between_nodes(pe, call, rail_peers, now)
        gather_in_node(pe, call, node, now)
    store_epoch(work, epoch)


def why_not(topology: Topology, dtype: str, op: str) -> str | None:
    """On one node two_shot does the same in fewer latency steps; and each slice needs its owner on every node."""
    sizes = {len(pes) for pes in topology.nodes}
    if len(topology.nodes) == 1:
        return "all PEs are on one node, where it would be two_shot with more latency steps"
    if len(sizes) > 1:
        return f"each node must have as many PEs, and here they have {' and '.join(map(str, sorted(sizes)))}"
    if sizes == {1}:
        return "every node has one PE, where it would be two_shot with more latency steps"
    return None


def peer_table(topology: Topology, me: int) -> list[int]:
    """n_nodes, n_local, this node, this local rank; the PEs of the node; the rail peers."""
    nodes, node = topology.nodes, topology.node_of[me]
    local = nodes[node].index(me)
    return [len(nodes), len(nodes[0]), node, local, *nodes[node], *(pes[local] for pes in nodes)]


def even_plan(call: ToCut) -> Plan:
    """Blocks of at least 16 KiB, pieces as large as a buffer allows."""
    n_blocks = call.blocks(MIN_BLOCK_BYTES)
    return Plan(n_blocks, cut_evenly(call.n_elems, call.shares * n_blocks, call.slot_elems()))


def cost_us(size: Size, topology: Topology, machine: Machine) -> float:
    """Two latency steps in a node, of a slice for each PE, and two between nodes, of a part of a slice for each node."""
    local, n_nodes = topology.largest_node, topology.n_nodes
    between = (n_nodes - 1) / (n_nodes * local)
    return machine.call_us(
        rounds=size.rounds(topology.n_pes),
        near_steps=2,
        net_steps=2,
        messages=2 * (local - 1) + 2 * (n_nodes - 1),
        sent=2 * (local - 1) / local * size.nbytes,
        nic=(1 + size.widening) * between * size.nbytes * local / topology.n_rails,
        moved=(local + 1) / local * size.nbytes,
        added=((local - 1) / local + between) * size.nbytes,
    )


ALGORITHM = Algorithm(
    hierarchical,
    even_plan,
    slots=lambda topology, limits: 2 * (topology.n_pes + len(topology.nodes)),
    holds=PARTIALS,
    signals=lambda topology: 2 * 2 * (len(topology.nodes[0]) + len(topology.nodes)),
    shares=per_pe(1),
    why_not=why_not,
    cost_us=cost_us,
    peer_table=peer_table,
)
