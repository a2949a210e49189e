"""The rings of multi_ring: the order of the PEs on each ring, in closed form.

Several nodes: one ring for each rail.  A ring enters a node at a PE of one rail, visits every PE of the node, and leaves
from a PE of another rail, by which it enters the next node.  So no message changes rails, and a rail-optimised fabric
carries each message from NIC to NIC over one switch.  On rails p and p+1 a ring enters every second node by p+1, visits
its PEs in ascending order, and leaves by p; it enters the nodes between by p, visits their PEs in descending order, and
leaves by p+1 (the Penny worklog, part 1).

One node: every direct link once in each direction, as Hamiltonian cycles
(Walecki's zigzags, 1890s; B. Alspach, "The wonderful Walecki construction", 2008).
"""

from .algorithm import Topology

Ring = tuple[int, ...]


def rings(topology: Topology) -> tuple[Ring, ...]:
    """The PEs of each ring, in the order in which a message visits them."""
    if len(topology.nodes) == 1:
        return _of_one_node(topology.n_pes)
    ports = _ports(topology)
    n_nodes, n_rails = len(ports), len(ports[0])
    # Rails in pairs: the second ring of a pair runs backward, and each NIC sends for one ring of the pair and receives
    # for the other ring.  An odd number of rails has no pairs: all rings run forward, each one rail further.
    paired = n_nodes % 2 == 0 and n_rails % 2 == 0
    return tuple(
        _ring(topology.nodes, ports, ring // 2 * 2, backward=ring % 2 == 1)
        if paired
        else _ring(topology.nodes, ports, ring)
        for ring in range(n_rails)
    )


def n_rings(topology: Topology) -> int:
    """Number of rings."""
    if len(topology.nodes) == 1:
        return max(1, (topology.n_pes - 1) // 2 * 2)
    return len(set(topology.rails))


def no_rings(topology: Topology) -> str | None:
    """The reason why a topology has no rings, or None."""
    rail_of = topology.rails
    rails = [{rail_of[pe] for pe in pes} for pes in topology.nodes]
    if any(rails_of_node != rails[0] for rails_of_node in rails):
        return "its rings need the same rails in every node, and the rails of the nodes differ"
    return None


def _ports(topology: Topology) -> list[list[int]]:
    """For each node, the first PE of each of its rails, in order of rail."""
    rails = topology.rails
    first = [{rails[pe]: pe for pe in reversed(pes)} for pes in topology.nodes]
    return [[port[rail] for rail in sorted(port)] for port in first]


def _ring(nodes: tuple[Ring, ...], ports: list[list[int]], rail: int, backward: bool = False) -> Ring:
    """The ring on rails ``rail`` and ``rail + 1``, which begins at node 0."""
    n_nodes, n_rails = len(nodes), len(ports[0])
    # Consecutive nodes are entered by different rails: 1, 0, 1, 0, ... and, if the number of nodes is odd, 2.
    entry_rails = [(node + 1) % 2 for node in range(n_nodes)]
    if n_nodes % 2 and n_rails > 2:
        entry_rails[-1] = 2
    order: list[int] = []
    for node, pes in enumerate(nodes):
        enter = ports[node][(rail + entry_rails[node]) % n_rails]
        leave = ports[node][(rail + entry_rails[(node + 1) % n_nodes]) % n_rails]
        if leave == enter:  # one rail, or two rails and an odd number of nodes: leave by any other PE
            leave = ports[node][(rail + entry_rails[node] + 1) % n_rails] if n_rails > 1 else pes[-1]
        order += _through(pes, enter, leave, up=node % 2 == 0)
    return tuple(reversed(order)) if backward else tuple(order)


def _through(pes: Ring, enter: int, leave: int, up: bool) -> list[int]:
    """All PEs of a node, in one direction: ``enter`` is the first, ``leave`` the last."""
    first, n = pes.index(enter), len(pes)
    visited = [pes[(first + (k if up else -k)) % n] for k in range(n)]
    return [pe for pe in visited if pe != leave] + [leave]


def _of_one_node(n_pes: int) -> tuple[Ring, ...]:
    """Rings 2q and 2q+1 are a cycle and its reverse.  Together the rings of an odd number of PEs use each link
    once in each direction; those of an even number leave out one perfect matching."""
    half = (n_pes - 1) // 2
    if half == 0:
        return (tuple(range(n_pes)),)
    around = 2 * half
    zigzag = [-(k // 2) if k % 2 == 0 else (k + 1) // 2 for k in range(around)]  # 0, 1, -1, 2, -2, ...
    cycles: list[Ring] = []
    for q in range(half):
        path = [(q + step) % around for step in zigzag]
        middle = [around + 1] if n_pes % 2 == 0 else []
        cycle = (around, *path[:half], *middle, *path[half:])
        cycles += [cycle, cycle[::-1]]
    return tuple(cycles)
