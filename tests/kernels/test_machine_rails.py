"""What each rail carries between nodes, by the puts of kernels in the simulator."""

import math
from collections import Counter
from random import Random

import pytest
from machine.team import Team

from pennympi.kernels.algorithm import Limits, Topology
from pennympi.kernels.allreduce import TABLE
from pennympi.kernels.cost import Machine, Size
from pennympi.simulator.network import POINTER

LIMITS = Limits(4, 256 << 10)
NIC = Machine("only NICs, of a byte a us", 0, 0, 0, 0, *(math.inf,) * 4, 0, 1e-3, "")
PLACES = {
    "2x2": Topology((0, 0, 1, 1)),
    "2x4 with 2 rails": Topology((0,) * 4 + (1,) * 4, rail_of=(0, 0, 1, 1) * 2),
    "4x2": Topology((0, 0, 1, 1, 2, 2, 3, 3)),
    "4x2 with 1 rail": Topology((0, 0, 1, 1, 2, 2, 3, 3), rail_of=(0,) * 8),
}


def bytes_by_rail(name, topology, count):
    """({(node, rail): bytes that leave it}, the same of bytes that enter it) in an AllReduce of float32."""
    algorithm, team = TABLE[name], Team(POINTER, Random(1), topology, plain=False)
    team.limits = LIMITS
    plan = algorithm.plan(count, 4, 4, topology, LIMITS)
    src, out = (team.machine.memory.allocate(4 * count) for _ in range(2))
    for pe in team.machine.pes:
        pe.launches += [team.launch(name, algorithm, plan, "float32", pe.me, name, src=src, out=out, n_elems=count)]
    with team.noted(name):
        team.machine.run()
    sent = team.machine.network.sent
    out, into = Counter(), Counter()
    for (pe, peer), nbytes in sent.items():
        if topology.node_of[pe] != topology.node_of[peer]:
            out[topology.node_of[pe], topology.rails[pe]] += nbytes
            into[topology.node_of[peer], topology.rails[peer]] += nbytes
    return out, into


@pytest.mark.parametrize("name", PLACES)
@pytest.mark.parametrize("algorithm", ["multi_ring", "hierarchical"])
def test_every_rail_carries_as_much(algorithm, name):
    topology = PLACES[name]
    n, n_nodes, n_rails = topology.n_pes, len(topology.nodes), len(set(topology.rails))
    for count in (n * n_rails * 16, 5 * n * n * 32):
        steps, share = {"multi_ring": (n - 1, n), "hierarchical": (n_nodes - 1, n_nodes)}[algorithm]
        per_rail = 2 * steps * count * 4 // (share * n_rails)
        every = {(node, rail): per_rail for node in range(n_nodes) for rail in set(topology.rails)}
        assert bytes_by_rail(algorithm, topology, count) == (every, every), count


@pytest.mark.parametrize("name", PLACES)
@pytest.mark.parametrize("algorithm", [name for name in TABLE if name not in ("simple_ring", "tree")])
def test_the_cost_has_the_bytes_of_the_busiest_nic(algorithm, name):
    """simple_ring is left out because its crossings wait for one another, tree because its cost counts the usual case."""
    topology = PLACES[name]
    if reason := TABLE[algorithm].why_not(topology, "float32", "sum"):
        pytest.skip(reason)
    count = topology.n_pes * topology.n_rails * 64
    out, _ = bytes_by_rail(algorithm, topology, count)
    us = TABLE[algorithm].cost_us(Size(count, 4, 4, count), topology, NIC)
    assert us == pytest.approx(max(out.values()), rel=0.05)  # slices of whole vectors differ a little
