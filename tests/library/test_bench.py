"""The bench and tune commands: they report right numbers, and detect wrong results and times without a meaning."""

import argparse
import itertools
import os
from types import SimpleNamespace

import pytest

from pennympi.arrays.dtypes import TABLE as DTYPES
from pennympi.bench import columns, result
from pennympi.bench.cases import CASES
from pennympi.bench.implementation import plain
from pennympi.bench.run import Options, Run
from pennympi.bench.this_library import ThisLibrary
from pennympi.bench.timing import Effort
from pennympi.command import bench, tune
from pennympi.command.exit_status import FAILED, WRONG_USE, Ended
from pennympi.selection.find import users_path
from pennympi.selection.table import read as read_table

QUICK = Effort(calls=1, warmup=0, budget_ms=0.1)


def arguments(command, *words):
    parser = argparse.ArgumentParser()
    command.arguments(parser)
    return parser.parse_args([*words, "--budget-ms", "0.1"])


class Broken(ThisLibrary):
    """An implementation that leaves one element of its result unchanged on PE 0."""

    def call(self, case, source, target, op, root):
        right = super().call(case, source, target, op, root)

        def call(stream):
            before = target[-1:].copy()
            right(stream)
            if self._team.me == 0:
                self._team.synchronize()
                target[-1:] = before

        return call


@pytest.mark.mpi
@pytest.mark.parametrize("case", CASES)
def test_every_case(team, case, tmp_path, capsys):
    baseline = "mpi" if team.n_pes in (2, 3) and case != "put" else ""
    words = ["--sizes", "7,64,4099", "-n", "1", "-w", "0", "--output", str(tmp_path / "result.json")]
    if case == "allreduce":
        words += ["--algorithm", "each", "-d", "float16", "-o", "sum,max"]
    if baseline:
        words += ["--against", baseline]
    args = arguments(bench, case, *words)
    assert not bench.problem(args) and bench.run(args) == 0
    if team.me == 0:
        found = result.read(tmp_path / "result.json")
        assert found.rows and all(not row.wrong and row.p99_us >= row.median_us >= row.least_us > 0 for row in found.rows)
        assert ("mpi" in found.implementations()) == (bool(baseline) and case != "allreduce"), "MPI has no float16 sum"
        assert "Wrong elements: 0 OK" in capsys.readouterr().out


def test_the_table_says_where_auto_is_slower_than_another_algorithm():
    def row(name, size_bytes, us):
        return result.Row("allreduce", name, "float32", "sum", size_bytes, 1, False, "eager", us, us, us, 1.0, 1.0, 0)

    times = {
        ("pennympi", 1024): 20.0,
        ("ring", 1024): 10.0,
        ("mpi", 1024): 1.0,
        ("pennympi", 4096): 11.0,
        ("ring", 4096): 10.0,
    }
    lines = columns.comparison(result.Result({}, {}, [row(*key, us) for key, us in times.items()]))
    assert lines[-1] == "# auto is slower than ring at 1 KiB: run python -m pennympi tune"
    lines = columns.comparison(result.Result({}, {}, [row(*key, us) for key, us in times.items() if key[1] == 4096]))
    assert "auto" not in lines[-1]


@pytest.mark.mpi(min_size=2)
def test_a_wrong_element_is_found(team):
    run = Run(team, CASES["allreduce"], DTYPES["int32"], "max", Options(effort=QUICK, graph=False), seed=1)
    for kind, wrong in ((ThisLibrary, 0), (Broken, 1)):
        assert run.measure([kind(team, plain(team, 4096))], 4096, False)["pennympi"].wrong == wrong


@pytest.mark.parametrize(
    ("times", "medians", "rounds"),
    [
        ([(1.0, 2.0), (3.0, 4.0)], (2.0, 3.0), 2),
        ([(9.0, 2.0), (1.0, 2.0), (1.2, 2.0)], (1.2, 2.0), 3),
        ([(1.0, 2.0), (10.0, 20.0)], (5.5, 11.0), 2),  # slower, in the same order
        ([(1.0, 1.1), (1.1, 1.0)], (1.05, 1.05), 2),  # too close for an order
        ([(1.0, 2.0), (2.0, 1.0)] * 25, None, tune.MOST_ROUNDS),
    ],
)
def test_a_size_is_measured_until_two_rounds_agree(times, medians, rounds, monkeypatch):
    left = iter(times)
    monkeypatch.setattr(tune, "_measure_once", lambda *args: dict(zip(("ring", "tree"), next(left), strict=True)))
    runner, ours = SimpleNamespace(dtype=DTYPES["float32"]), [SimpleNamespace(name=name) for name in ("ring", "tree")]
    found = tune.measured(runner, ours, [1024], anyway=False)
    assert found.sizes_bytes == ((1024,) if medians else ()), "a size without an order is left out"
    assert [us[0] for us in found.us.values() if us] == pytest.approx(list(medians or ()))
    assert len(list(left)) == len(times) - rounds


@pytest.mark.mpi(min_size=2)
def test_tune_refuses_pes_that_share_cores(team, monkeypatch, tmp_path):
    if team.backend == "cuda":
        pytest.skip("on GPUs it is the devices that may be shared")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {0})
    wrong = f"^{team.n_pes} PEs share 1 core: .*start fewer ranks, or give --anyway"
    with pytest.raises(Ended, match=wrong) as end:
        tune.run(arguments(tune, "-e", "4K", "-d", "float32"))
    assert end.value.status == WRONG_USE and not list(tmp_path.iterdir())


@pytest.mark.mpi(min_size=2)
def test_tune_writes_no_order_that_does_not_settle(team, monkeypatch, tmp_path, capsys):
    if team.backend == "cuda" and team._backend.shared:
        pytest.skip("tune refuses PEs that share a GPU")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    path, turn = users_path(team.device_name, team.pe_topology), itertools.count()

    def disturbed(runner, ours, nbytes):
        fast = next(turn) % len(ours)
        return {one.name: 1.0 if number == fast else 50.0 for number, one in enumerate(ours)}

    monkeypatch.setattr(tune, "_measure_once", disturbed)
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: set(range(team.n_pes)))
    args = arguments(tune, "-e", "4K", "-d", "float32")
    with pytest.raises(Ended, match="the order of the algorithms was not stable at any size: nothing was written") as end:
        tune.run(args)
    assert end.value.status == FAILED and not path.exists()
    args.anyway = True
    assert tune.run(args) == 0
    if team.me == 0:
        assert read_table(path).series[0].sizes_bytes == (1024, 4096)
        assert "left out" in capsys.readouterr().out, "of the first command"
