"""The algorithm that runs: by its name, by measurements, or by its cost; the same on every PE."""

import argparse
import math

import pytest

import pennympi
from pennympi import Unsupported
from pennympi.arrays.dtypes import TABLE as DTYPES
from pennympi.command import explain, tune
from pennympi.kernels.algorithm import Limits, Topology
from pennympi.kernels.allreduce import TABLE
from pennympi.selection import choose, find, machine, table

H200 = Limits(max_blocks=132, buffer_bytes=256 << 10)
# The measurements from which the model's constants were derived; the others are compared in the same way.
TRUSTED, WITHIN = ("one_shot", "one_shot_packets", "two_shot", "two_shot_packets"), 2.0
EXAMPLE = table.Tuned(
    "a note",
    (table.Series("float32", (1024, 4096, 16384),
                  {"ring": (9.0, 9.0, 9.0), "one_shot": (3.0, math.nan, math.nan), "two_shot": (math.nan, 5.0, 20.0)}),
     table.Series("bfloat16", (1024,), {"ring": (1.0,)})),
)  # fmt: skip


def selection(topology, where=machine.NVLINK, tuned=None):
    return choose.Selection(topology, H200, where, tuned, "GPUs")


def test_every_algorithm_has_a_cost_that_grows():
    for n in (2, 3, 8):
        for nodes in ((0,) * n, tuple(range(n)), tuple(pe * 2 // n for pe in range(n))):
            us = [
                selection(Topology(nodes)).explain(nbytes, DTYPES["float16"], "sum").modelled for nbytes in (2, 2 << 20)
            ]
            assert us[0] and all(0 < us[0][name] < us[1][name] for name in us[0]), (nodes, us)
            refused = selection(Topology(nodes)).explain(2, DTYPES["float16"], "sum").refused
            assert {*us[0], *refused} == {*TABLE}


@pytest.mark.parametrize("path", sorted(find.SHIPPED.glob("*.toml")), ids=lambda path: path.name)
def test_the_model_is_near_what_was_measured(path):
    tuned = table.read(path)
    topology = Topology((0,) * int(path.name.split(".")[1]))
    assert path.name == find.file_name("NVIDIA H200", topology)
    for series in tuned.series:
        for nbytes in series.sizes_bytes:
            us, modelled = (
                series.times_at(nbytes),
                selection(topology).explain(nbytes, DTYPES[series.dtype], "sum").modelled,
            )
            for name in set(us) & set(TRUSTED):
                assert 1 / WITHIN < modelled[name] / us[name] < WITHIN, (name, nbytes, modelled, us[name])


def test_two_h200_use_what_was_measured(monkeypatch):
    monkeypatch.delenv("PENNYMPI_TUNED", raising=False)
    monkeypatch.setenv("XDG_DATA_HOME", "/nonexistent")
    choice = selection(Topology((0, 0)), tuned=find.find("NVIDIA H200", Topology((0, 0))))
    sizes = {8: "one_shot_packets", 16 << 20: "one_shot_packets", 17 << 20: "one_shot", 4 << 30: "one_shot"}
    for nbytes, name in sizes.items():
        assert choice.choose("auto", nbytes, "float32", "sum").name == name
        assert choice.choose("auto", nbytes, "bfloat16", "max").name == name
    assert find.find("NVIDIA H200", Topology((0, 0), ll128_safe=False)) is None
    assert find.find("another", Topology((0, 0))) is None


@pytest.mark.parametrize(
    "where, nodes, nbytes, name",
    [
        (machine.NVLINK, (0, 0), 1 << 20, None),
        (machine.NVLINK, (0, 0), 16 << 20, "two_shot_direct"),
        (machine.NVLINK, (0, 0), 512 << 20, "two_shot_copied"),
        (machine.NVLINK, (0, 1), 512 << 20, None),
        (machine.PCIE, (0, 0), 512 << 20, None),
        (machine.host(4, 2), (0,) * 4, 512 << 20, "two_shot_direct"),
        (machine.host(1, 2), (0,), 512 << 20, None),
    ],
)
def test_plans_on_a_shared_out(monkeypatch, where, nodes, nbytes, name):
    monkeypatch.delenv("PENNYMPI_ALGORITHM", raising=False)
    chosen = selection(Topology(nodes), where)
    shared, other = (chosen.choose("auto", nbytes, "float32", "sum", shared_out=out).name for out in (True, False))
    assert shared == (name or other) and other in TABLE


def test_between_and_beyond_the_sizes_that_were_measured():
    times = EXAMPLE.series[0].times_at
    assert times(8) == times(1024) == {"ring": 9.0, "one_shot": 3.0}
    assert times(2048) == {"ring": pytest.approx(9.0)}
    assert times(8192)["two_shot"] == pytest.approx(10.0)  # half way, in logarithms
    assert times(32768)["two_shot"] == pytest.approx(40.0)
    assert EXAMPLE.times("float16", 1024) == {"ring": 1.0}  # as bfloat16, which has the same size
    assert EXAMPLE.times("float64", 1024)["ring"] == 9.0
    assert selection(Topology((0, 0)), tuned=EXAMPLE).choose("auto", 1024, "float32", "sum").name == "one_shot"


@pytest.mark.mpi
def test_explain_says_what_runs(team, monkeypatch, capsys):
    result = team.explain(100000, "float16", "max")
    assert result.algorithm == team._selection.choose("auto", 100000, "float16", "max").name
    assert result.algorithm in str(result) and set(result.modelled) | set(result.refused) >= set(
        TABLE if team.n_pes > 1 else ()
    )
    assert result.plan.blocks >= 1 and result.piece_bytes == 2 * result.plan.piece_elems
    monkeypatch.setenv("PENNYMPI_ALGORITHM", "allreduce:simple_ring")
    result = team.explain(1 << 20)
    assert result.algorithm == "simple_ring" and ("PENNYMPI_ALGORITHM" in result.why or team.n_pes == 1)
    for wrong, error in ((lambda: team.explain(-1), ValueError), (lambda: team.explain(8, op="xor"), ValueError),
                         (lambda: team.explain(8, "m8[s]"), Unsupported)):  # fmt: skip
        with pytest.raises(error):
            wrong()
    parser = argparse.ArgumentParser()
    explain.arguments(parser)
    assert explain.run(parser.parse_args(["1K", "-o", "max"])) == 0
    assert ("allreduce of 1024 bytes, float32 max" in capsys.readouterr().out) == (team.me == 0)


@pytest.mark.mpi(min_size=2)
def test_tune_writes_what_every_later_team_uses(team, monkeypatch, tmp_path, capsys):
    """Only PE 0 reads the table: the other PEs have no such file here."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    monkeypatch.delenv("PENNYMPI_TUNED", raising=False)
    path = find.users_path(team.device_name, team.pe_topology)
    parser = argparse.ArgumentParser()
    tune.arguments(parser)
    words = f"-b {64 if team.n_pes <= 4 else 1024} -e 1K -f 16 -d float32 --budget-ms 0.1 --anyway"
    assert tune.run(parser.parse_args(words.split())) == 0
    assert path.exists() == (team.me == 0)
    if team.me == 0:
        assert "written to" in capsys.readouterr().out
    monkeypatch.delenv("PENNYMPI_ALGORITHM", raising=False)
    with pennympi.init(heap_bytes=8 << 20 if team.backend == "host" else None) as later:
        found = later._selection.tuned
        assert found.source == team.gather(str(path))[0]
        assert len(set(later.gather(repr(found)))) == 1
        us = found.times("float32", 1024)
        assert set(us) == {
            name for name, algorithm in TABLE.items() if not algorithm.why_not(team.pe_topology, "float32", "sum")
        }
        result = later.explain(1024)
        assert result.algorithm == min(us, key=us.get) and "measured" in result.why
        taken = {name for name in us if not TABLE[name].why_not(team.pe_topology, "int64", "sum")}
        assert later.explain(1024, "int64").measured == {name: us[name] for name in taken}
