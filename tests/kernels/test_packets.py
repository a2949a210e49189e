"""PENNYMPI_PACKETS=0 on one PE turns packets off for its team only."""

import numpy as np
import pytest
from collective_cases import CASES, TABLES, Call, is_right
from on_device import device, same

import pennympi
from pennympi.collectives.by_counts import ByCounts
from pennympi.collectives.calls import ALL
from pennympi.kernels.algorithm import Topology, requires_ll128, requires_p2p
from pennympi.kernels.by_size import PACKETS_MAX_BYTES

pytestmark = pytest.mark.mpi


@pytest.fixture
def without(team, monkeypatch):
    """A team whose last PE allows no packets."""
    monkeypatch.setenv("PENNYMPI_PACKETS", "0" if team.me == team.n_pes - 1 else "auto")
    with pennympi.init() as made:
        yield made


def test_refused_by_the_name_of_the_setting(team, without):
    assert not without.pe_topology.packets and without.pe_topology.ll128_safe == team.pe_topology.ll128_safe
    by_name = {(collective, name): one for collective, table in TABLES.items() for name, one in table.items()}
    by_name = {names: algorithm for names, algorithm in by_name.items() if "packets" in algorithm.name}
    nodes = by_name.pop(("allreduce", "hierarchical_packets"))  # they need several nodes
    assert "PENNYMPI_PACKETS=0" in nodes.why_not(Topology((0, 0, 1, 1), packets=False), "float32", "sum")
    assert len(by_name) == 10
    x = device(team, np.zeros(8 * team.n_pes, np.float32))
    match = "PENNYMPI_PACKETS=0, on this or another PE" if team.pe_topology.ll128_safe else "not on NVLink"
    for (collective, name), algorithm in by_name.items():
        assert algorithm.why_not is requires_ll128
        if collective == "allreduce":
            with pytest.raises(pennympi.Unsupported, match=match):
                without.allreduce(x, algorithm=name)
    others = [algorithm for table in TABLES.values() for algorithm in table.values() if algorithm.why_not is requires_p2p]
    assert others
    for algorithm in others:
        assert algorithm.why_not(without.pe_topology, "float32", "sum") == algorithm.why_not(
            team.pe_topology, "float32", "sum"
        )


def test_auto_takes_others(team, without):
    x = without.full(100, without.me + 1, "int32")
    assert same(without.allreduce(x, op="max"), np.full(100, without.n_pes))
    assert "packets" not in without.explain(400).algorithm
    for name, case in CASES.items():
        call = Call("float32", "sum", team.n_pes, team.me, 0, 1000)
        x, out = case.fresh(lambda values: device(team, values), call)
        case.run(without, call, x, out)
        assert is_right(case, call, out, case.x(call) if case.one_array else np.zeros(out.size)), name


@pytest.mark.parametrize("collective", [case for case in ALL if "packets" in case.table], ids=lambda case: case.name)
def test_the_rule_of_choice(collective):
    """Small calls take packets where they are allowed, large calls by counts too; without packets they take other
    algorithms."""
    with_them, without = Topology((0, 0)), Topology((0, 0), packets=False)
    large, chosen = 2 * PACKETS_MAX_BYTES, collective.auto
    assert chosen(with_them, 1024) == "packets" != chosen(without, large) == chosen(without, 1024)
    assert chosen(with_them, large) == ("packets" if issubclass(collective, ByCounts) else chosen(without, large))
