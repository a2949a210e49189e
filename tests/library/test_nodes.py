"""Algorithms over several nodes of this machine's PEs: exact results, and the same bits on all PEs."""

import random

import numpy as np
import pytest
from on_device import device, same, to_numpy, write
from random_calls import Calls
from reductions import OPS, expected, own

import pennympi
from pennympi.arrays.dtypes import TABLE as DTYPES
from pennympi.kernels.allreduce import TABLE

pytestmark = pytest.mark.mpi(min_size=2)

UNEVEN = "[[node]]\npes = [0, 3, 4]\nrails = [1, 0, 1]\n[[node]]\npes = {rest}\nrails = {rails}\n"
LAID = {
    2: ["two-nodes-of-one"],
    3: ["three-nodes-of-one"],
    4: ["two-nodes-of-two"],
    5: [UNEVEN.format(rest=2, rails=[0, 1])],  # a node of three PEs with two rails, and a node of two PEs
    7: [UNEVEN.format(rest=4, rails=[0, 1, 1, 0])],
    8: ["2-nodes-of-4", "[[node]]\ncount = 4\npes = 2\nrails = [0, 0]"],
    16: ["two-nodes-of-eight", "four-nodes-of-four"],
}
# The algorithms that depend on the nodes, and one that does not.
ASKING = [name for name, algorithm in TABLE.items() if algorithm.peer_table]
SIZES = (1, 17, 1023, 40_007)


@pytest.fixture(scope="module", params=range(2))
def nodes(request, team, tmp_path_factory):
    """A team whose PEs are on several nodes."""
    laid = LAID.get(team.n_pes, [])
    if request.param >= len(laid):
        pytest.skip("no more topologies for so many PEs")
    name = laid[request.param]
    if "[" in name:
        file = tmp_path_factory.mktemp("topology") / "nodes.toml"
        file.write_text(name)
        name = str(file)
    made = pennympi.init(team.comm, topology=name)
    yield made
    if not request.session.testsfailed:
        made.finalize()


@pytest.mark.parametrize("algorithm", ASKING)
def test_exact_and_the_same_bits(nodes, algorithm):
    """Every dtype and op, with sizes, alignments and positions in turn; inexact floats have the same digest on all
    PEs."""
    if reason := TABLE[algorithm].why_not(nodes.pe_topology, "float32", "sum"):
        pytest.skip(reason)
    n, able = nodes.n_pes, [(name, op) for name in DTYPES for op in OPS]
    able = [one for one in able[:: 1 if n <= 8 else 2] if not TABLE[algorithm].why_not(nodes.pe_topology, *one)]
    for turn, (name, op) in enumerate(able):
        count, shift = SIZES[turn % len(SIZES)], turn % 3
        given = own(name, op, n, nodes.me, count)
        x = device(nodes, np.zeros(count + 3, given.dtype))[shift : shift + count]
        write(x, given)
        out = None if turn % 2 else device(nodes, np.zeros(count + 1, given.dtype))[1:]
        assert same(nodes.allreduce(x, out, op, algorithm), expected(name, op, n, count)), (name, op, count, shift)
        assert out is None or same(x, given)
    rng = np.random.default_rng([nodes.me, 5])
    for name in ("float16", "float32"):
        x = device(nodes, (rng.standard_normal(9001) * 10.0 ** rng.integers(-3, 3, 9001)).astype(name))
        outs = [nodes.allreduce(x, device(nodes, np.zeros(9001, name)), "sum", algorithm) for _ in range(2)]
        assert len({one for pe in nodes.gather([to_numpy(out).tobytes() for out in outs]) for one in pe}) == 1


def test_back_to_back(nodes):
    """All algorithms in turn, with PEs that come late."""
    calls = Calls(nodes, random.Random(11), 150 if nodes.n_pes <= 8 else 60)
    for _ in calls.list:
        calls.run_next()
    calls.check()
