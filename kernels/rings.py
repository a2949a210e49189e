"""The rings that multi_ring runs on: which PE follows which, in closed form.

Several nodes: one ring for each rail.  A ring enters a node at a PE of one rail, visits
every PE of the node, and leaves from a PE of another rail, by which it enters the next
node.  So no message changes rails, and a rail-optimised fabric carries each from NIC to
NIC over one switch.  With rails p and p+1 the nodes alternate between "in by p+1, up, out
by p" and "in by p, down, out by p+1" (the Penny worklog, part 1).

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
    # Rails in pairs: of every two rings the second runs the other way, and each NIC sends for one ring and
    # receives for the other.  An odd number can't be paired: then all run the same way, one rail further each.
    paired = n_nodes % 2 == 0 and n_rails % 2 == 0
    return tuple(
        _ring(topology.nodes, ports, ring // 2 * 2, backward=ring % 2 == 1)
        if paired
        else _ring(topology.nodes, ports, ring)
        for ring in range(n_rails)
    )


def n_rings(topology: Topology) -> int:
    """How many rings there are, without making them."""
    if len(topology.nodes) == 1:
        return max(1, (topology.n_pes - 1) // 2 * 2)
    return len(set(topology.rails))


def no_rings(topology: Topology) -> str | None:
    """Why there are no such rings, or None."""
    rail_of = topology.rails
    rails = [{rail_of[pe] for pe in pes} for pes in topology.nodes]
    if any(of != rails[0] for of in rails):
        return "its rings run on the same rails through every node, and here the rails of the nodes differ"
    return None


def _ports(topology: Topology) -> list[list[int]]:
    """Of each node: the first PE of each of its rails, in order of rail."""
    rails = topology.rails
    first = [{rails[pe]: pe for pe in reversed(pes)} for pes in topology.nodes]
    return [[port[rail] for rail in sorted(port)] for port in first]


def _ring(nodes: tuple[Ring, ...], ports: list[list[int]], rail: int, backward: bool = False) -> Ring:
    """The ring on rails ``rail`` and the next one, from node 0 on."""
    n_nodes, n_rails = len(nodes), len(ports[0])
    # Neighbours on the round of nodes never enter by the same rail: 1, 0, 1, 0, ... and, if they are odd, a 2.
    by = [(node + 1) % 2 for node in range(n_nodes)]
    if n_nodes % 2 and n_rails > 2:
        by[-1] = 2
    order: list[int] = []
    for node, pes in enumerate(nodes):
        enter = ports[node][(rail + by[node]) % n_rails]
        leave = ports[node][(rail + by[(node + 1) % n_nodes]) % n_rails]
        if leave == enter:  # one rail, or two and an odd number of nodes: by any other PE, if there is one
            leave = ports[node][(rail + by[node] + 1) % n_rails] if n_rails > 1 else pes[-1]
        order += _through(pes, enter, leave, up=node % 2 == 0)
    return tuple(reversed(order)) if backward else tuple(order)


def _through(pes: Ring, enter: int, leave: int, up: bool) -> list[int]:
    """All PEs of a node: from ``enter`` on in one direction, ``leave`` at the end."""
    first, n = pes.index(enter), len(pes)
    visited = [pes[(first + (k if up else -k)) % n] for k in range(n)]
    return [pe for pe in visited if pe != leave] + [leave]


def _of_one_node(n_pes: int) -> tuple[Ring, ...]:
    """Rings 2q and 2q+1 are a cycle and its reverse.  Together they use each link of an odd number of PEs
    once in each direction; of an even number, each but those of one perfect matching."""
    half = (n_pes - 1) // 2
    if half == 0:
        return (tuple(range(n_pes)),)
    around = 2 * half
    zigzag = [-(k // 2) if k % 2 == 0 else (k + 1) // 2 for k in range(around)]  # 0, 1, -1, 2, -2, ...
    found: list[Ring] = []
    for q in range(half):
        path = [(q + step) % around for step in zigzag]
        middle = [around + 1] if n_pes % 2 == 0 else []
        cycle = (around, *path[:half], *middle, *path[half:])
        found += [cycle, cycle[::-1]]
    return tuple(found)
