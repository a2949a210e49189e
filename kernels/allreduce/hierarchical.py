"""Hierarchical AllReduce: reduce-scatter in the node, all-reduce between nodes, all-gather in the node.

Source: Penny, part 3.  Every PE owns the slice of its local rank, 1/M of the vector
on nodes of M PEs.  It adds up its node's slice, exchanges it with the PEs of its
local rank on the other N-1 nodes (reduce-scatter, then all-gather, one hop each),
and hands the result to its node: four hops whatever the size of the machine, and
every rail carries the same 2 (N-1)/(N M) of the vector.  n = N M PEs, b bytes:

    T = 2 alpha_node + 2 alpha_net + 2 (M-1)/M b beta_node + 2 (N-1)/(N M) b beta_net
        + ((M-1)/M + (N-1)/(N M)) b gamma

(16-bit floats cross between nodes as float32 while they are being added: 3 (N-1)/(N M) b beta_net.)

Every PE gets the same bits: each chunk is completed by one PE, which adds the PEs of
each node in order, then the nodes in order, and rounds once; all others copy it.
"""

from ..algorithm import PARTIALS, Algorithm, Limits, Place, Plan, cut_evenly
from ..block import (
    block,
    blocks,
    copy,
    fence,
    finish_merge,
    merge,
    put,
    put_signal,
    read_epoch,
    read_route,
    reduce,
    signal,
    staged,
    wait,
    widen,
    write_epoch,
)


def tell(ctx, word, epoch, group, mine, size):
    """Set ``word`` on the other PEs of ``group`` (size,), in which this one is number ``mine``."""
    fence(ctx)
    for k in range(1, size):
        signal(ctx, word, epoch, read_route(group, (mine + k) % size))


def hear(ctx, words, epoch, group, mine, size):
    """Wait for the words (size,) of the other PEs of ``group``."""
    for k in range(1, size):
        other = (mine + k) % size
        wait(ctx, words + other * 8, epoch, read_route(group, other))


def hierarchical(
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

    The vector is cut in n_local slices of n_nodes chunks of piece_elems; a "twin" is a PE of this local rank.
    inbox   (blocks, 2 parities, buffer_bytes), a half holds parts (n_local, slice), partials (n_nodes, chunk),
            one whole slice, and slices (n_local, slice)
    outbox  (blocks, 2 parities, buffer_bytes): the partials of a slice, then (n_local, slice) that parts start from
    signals (blocks, 2 parities, n_local + n_nodes + n_nodes + n_local) words: a part, partial, chunk, slice is here
    ways    (4 + n_local + n_nodes,) words: n_nodes, n_local, this node, this local rank; PEs of the node; twins
    """
    n_nodes, n_local = read_route(routes, 0), read_route(routes, 1)
    node, local = read_route(routes, 2), read_route(routes, 3)
    peers, twins = routes + 4 * 8, routes + (4 + n_local) * 8  # (n_local,), (n_nodes,) PEs
    chunk_bytes = piece_elems * acc_bytes
    slice_elems, slice_bytes = n_nodes * piece_elems, n_nodes * chunk_bytes
    epoch = read_epoch(epochs, block())
    for start in range(block() * n_pes * piece_elems, count, blocks() * n_pes * piece_elems):
        epoch += 1
        # Slices of round e+1 come from PEs that heard of every PE in round e+1: all have read round e, two parities do
        # for slots and words.
        parity = block() * 2 + (epoch & 1)
        half = parity * buffer_bytes
        part_here = signals + parity * 2 * (n_local + n_nodes) * 8
        partial_here = part_here + n_local * 8
        chunk_here = partial_here + n_nodes * 8
        slice_here = chunk_here + n_nodes * 8
        parts = inbox + half
        partials = parts + n_local * slice_bytes
        whole = partials + slice_bytes  # (slice_elems,) elements
        slices = whole + slice_bytes
        added = outbox + half  # (slice_elems,) partials
        rooms = added + slice_bytes  # (n_local, slice); the signals' fence gives them back

        # in the node: every PE gets its slice from all, and adds it up in their order
        for k in range(1, n_local):
            peer = (local + k) % n_local
            low = start + peer * slice_elems
            nbytes = max(0, min(slice_elems, count - low)) * item_bytes
            to = read_route(peers, peer)
            start_at = staged(ctx, rooms + peer * slice_bytes, src + low * item_bytes, nbytes, to)
            put(ctx, parts + local * slice_bytes, start_at, nbytes, to)
        tell(ctx, part_here + local * 8, epoch, peers, local, n_local)
        own = start + local * slice_elems
        own_elems = max(0, min(slice_elems, count - own))
        hear(ctx, part_here, epoch, peers, local, n_local)
        for peer in range(n_local):
            part = src + own * item_bytes if peer == local else parts + peer * slice_bytes
            if peer == 0:
                widen(ctx, added, part, own_elems)
            else:
                reduce(ctx, added, added, part, own_elems)

        # between nodes: every twin gets its chunk of the slice from all, and adds it up in their order
        for k in range(1, n_nodes):
            other = (node + k) % n_nodes
            n = max(0, min(piece_elems, count - own - other * piece_elems))
            to, slot = read_route(twins, other), partials + node * chunk_bytes
            put_signal(ctx, slot, added + other * chunk_bytes, n * acc_bytes, partial_here + node * 8, epoch, to)
        hear(ctx, partial_here, epoch, twins, node, n_nodes)
        n = max(0, min(piece_elems, count - own - node * piece_elems))
        total = whole + node * piece_elems * item_bytes
        left = added if node == 0 else partials
        for other in range(1, n_nodes):
            right = added + node * chunk_bytes if other == node else partials + other * chunk_bytes
            if other == n_nodes - 1:
                finish_merge(ctx, total, left, right, n)
            else:
                merge(ctx, partials + node * chunk_bytes, left, right, n)  # where nobody else writes
                left = partials + node * chunk_bytes

        # and hands the complete chunk to all
        for k in range(1, n_nodes):
            to = read_route(twins, (node + k) % n_nodes)
            put_signal(ctx, total, total, n * item_bytes, chunk_here + node * 8, epoch, to)
        hear(ctx, chunk_here, epoch, twins, node, n_nodes)

        # in the node: every PE hands its whole slice to all
        for k in range(1, n_local):
            to = read_route(peers, (local + k) % n_local)
            put(ctx, slices + local * slice_bytes, whole, own_elems * item_bytes, to)
        tell(ctx, slice_here + local * 8, epoch, peers, local, n_local)
        copy(out + own * item_bytes, whole, own_elems * item_bytes)
        hear(ctx, slice_here, epoch, peers, local, n_local)
        for k in range(1, n_local):
            peer = (local + k) % n_local
            low = start + peer * slice_elems
            n = max(0, min(slice_elems, count - low))
            copy(out + low * item_bytes, slices + peer * slice_bytes, n * item_bytes)
    write_epoch(epochs, block(), epoch)


def refuse(place: Place, dtype: str, op: str) -> str:
    """On one node two_shot does the same in fewer hops; and each slice needs its owner on every node."""
    sizes = {len(pes) for pes in place.nodes}
    if len(place.nodes) == 1:
        return "all PEs are on one node, where it would be two_shot with more hops"
    if len(sizes) > 1:
        return f"each node must have as many PEs, and here they have {' and '.join(map(str, sorted(sizes)))}"
    if sizes == {1}:
        return "every node has one PE, where it would be two_shot with more hops"
    return ""


def _ways(place: Place, me: int) -> list[int]:
    nodes, node = place.nodes, place.node_of[me]
    local = nodes[node].index(me)
    return [len(nodes), len(nodes[0]), node, local, *nodes[node], *(pes[local] for pes in nodes)]


def plan(count: int, item_bytes: int, acc_bytes: int, place: Place, limits: Limits) -> Plan:
    """Blocks of at least 16 KiB, pieces as large as a half allows."""
    n_pes, n_nodes = place.n_pes, len(place.nodes)
    n_blocks = min(limits.max_blocks, max(1, count * item_bytes // 16384))
    return Plan(n_blocks, cut_evenly(count, n_pes * n_blocks, limits.buffer_bytes // (2 * (n_pes + n_nodes) * acc_bytes)))


ALGORITHM = Algorithm(
    name="hierarchical",
    sentence="reduce-scatter in the node, all-reduce between PEs of a local rank, all-gather in the node; four hops",
    needs="several nodes, all with the same number of PEs (two or more)",
    kernel=hierarchical,
    plan=plan,
    signals=lambda place: 2 * 2 * (len(place.nodes[0]) + len(place.nodes)),
    slots=lambda place, limits: 2 * (place.n_pes + len(place.nodes)),
    holds=PARTIALS,
    refuse=refuse,
    routes=_ways,
)
