"""Groups of PEs for hierarchical algorithms: the PEs of this node, and the PEs of one local rank."""

from typing import NamedTuple

from .algorithm import Topology
from .block import fence, read_peer, reduce_partials, reduce_partials_and_round, signal, wait
from .records import PE, Slots, Work
from .slots import slot_at, word
from .steps import rank_after


class Group(NamedTuple):
    """n PEs that exchange with each other.  pes: address of (n,) words, their numbers;  rank: index of this PE"""

    pes: int
    n: int
    rank: int


def node_of(work: Work) -> Group:
    """The PEs of this node."""
    return Group(word(work.peer_table, 4), read_peer(work.peer_table, 1), read_peer(work.peer_table, 3))


def rail_peers_of(work: Work) -> Group:
    """The PEs of this PE's local rank, one PE of each node."""
    first = 4 + read_peer(work.peer_table, 1)
    return Group(word(work.peer_table, first), read_peer(work.peer_table, 0), read_peer(work.peer_table, 2))


def peer_table(topology: Topology, me: int) -> list[int]:
    """n_nodes, n_local, this node, this local rank; the PEs of the node; the rail peers."""
    nodes, node = topology.nodes, topology.node_of[me]
    local = nodes[node].index(me)
    return [len(nodes), len(nodes[0]), node, local, *nodes[node], *(pes[local] for pes in nodes)]


def why_not(topology: Topology, dtype: str, op: str) -> str | None:
    """The reason why a hierarchical algorithm can't run, or None: each slice needs an owner on every node."""
    sizes = {len(pes) for pes in topology.nodes}
    if len(topology.nodes) == 1:
        return "all PEs are on one node, where this algorithm would be two_shot with more latency steps"
    if len(sizes) > 1:
        return f"each node must have the same number of PEs, and the nodes have {' and '.join(map(str, sorted(sizes)))}"
    if sizes == {1}:
        return "every node has one PE, where this algorithm would be two_shot with more latency steps"
    return None


def member(group: Group, k: int) -> int:
    """Index in the group of the k-th PE after this PE."""
    return rank_after(group.rank, k, group.n)


def signal_group(pe: PE, group: Group, words: int, epoch: int):
    """Fence, then set word ``rank`` of ``words`` on the other PEs of a group: this block's puts have arrived."""
    fence(pe.ctx)
    for k in range(1, group.n):
        signal(pe.ctx, word(words, group.rank), epoch, read_peer(group.pes, member(group, k)))


def wait_group(pe: PE, group: Group, words: int, epoch: int):
    """Wait for the words (n,) of the other PEs of a group."""
    for k in range(1, group.n):
        source = member(group, k)
        wait(pe.ctx, word(words, source), epoch, read_peer(group.pes, source))


class Sum(NamedTuple):
    """result (n,) elements = the partials of a group's PEs, added in their order.

    result:   address of (n,) elements;  own: address of (n,) partials of this PE
    partials: slots, (group,), of the group's PEs; this PE's slot is scratch
    """

    result: int
    own: int
    partials: Slots
    n: int


def add_up(pe: PE, group: Group, total: Sum):
    """Add a ``Sum`` up and round it."""
    scratch = slot_at(total.partials, group.rank)
    left = total.own if group.rank == 0 else total.partials.address
    for rank in range(1, group.n):
        right = total.own if rank == group.rank else slot_at(total.partials, rank)
        if rank == group.n - 1:
            reduce_partials_and_round(pe.ctx, total.result, left, right, total.n)
        else:
            reduce_partials(pe.ctx, scratch, left, right, total.n)
            left = scratch
