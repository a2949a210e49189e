"""The bench command: what it says is right, is measured on every PE, and a wrong result is found."""

import argparse

import pytest

from pennympi.arrays.dtypes import TABLE as DTYPES
from pennympi.bench import memory, plan_overrides, plot, result, setup, sizes
from pennympi.bench.cases import CASES
from pennympi.bench.ours import Ours
from pennympi.bench.run import Options, Run
from pennympi.bench.timing import Effort
from pennympi.command import bench
from pennympi.files import FileError
from pennympi.kernels.algorithm import Limits, Place
from pennympi.kernels.allreduce import TABLE

QUICK = Effort(calls=1, warmup=0, budget_ms=0.1)


def ended(*words):
    """(status, arguments) of the command with these arguments."""
    parser = argparse.ArgumentParser()
    bench.arguments(parser)
    args = parser.parse_args([*words, "-n", "1", "-w", "0", "--budget-ms", "0.1"])
    assert not bench.problem(args)
    return bench.run(args), args


class Broken(Ours):
    """Leaves one element of its result as PE 0 had it before."""

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
@pytest.mark.parametrize("case", [name for name in CASES])
def test_every_case(team, case, tmp_path, capsys):
    if not hasattr(team, case):
        pytest.skip(f"no team.{case}")
    rival = "mpi" if team.n_pes in (2, 3) and case != "put" else ""
    status, args = ended(
        case, "--sizes", "7,64,4099", *(("--against", rival) if rival else ()), "--output", str(tmp_path / "result.json")
    )
    assert status == 0
    if team.me == 0:
        found = result.read(tmp_path / "result.json")
        assert found.implementations() == ["pennympi", "mpi"] if rival else ["pennympi"]
        assert all(
            row.median_us > 0 and row.p99_us >= row.median_us >= row.least_us and not row.wrong for row in found.rows
        )
        assert "Wrong elements: 0 OK" in capsys.readouterr().out


@pytest.mark.mpi
def test_calls_of_few_multiprocessors_and_in_order(team, tmp_path):
    """Beside the library's own choice, in one table."""
    path = tmp_path / "result.json"
    options = ("--sms", "1,2", "--order", "canonical", "--output", str(path))
    assert ended("allreduce", "--sizes", "4099", *options)[0] == 0
    if team.me == 0:
        names = ["pennympi", "pennympi sms=1", "pennympi sms=2", "pennympi order=canonical"]
        assert result.read(path).implementations() == names


@pytest.mark.mpi(min_size=2)
def test_the_floor_is_beside_the_times(team, tmp_path, capsys):
    path = tmp_path / "result.json"
    assert ended("allreduce", "--sizes", "4099", "--floor", "--output", str(path))[0] == 0
    if team.me == 0:
        found = result.read(path)
        assert (found.floor.launch_us > 0) == (team.backend == "cuda")  # a CPU launches nothing
        assert found.floor.hop_us > 0 and found.floor.gb_per_s > 0
        row = found.rows[0]
        least_us = found.floor.launch_us + row.size_bytes / found.floor.gb_per_s / 1e3  # at least as many bytes go out
        assert found.floor.us(row) > least_us
        assert f"floor: {found.floor.us(row):.2f}, " in capsys.readouterr().out


@pytest.mark.mpi(min_size=2)
def test_a_wrong_element_is_found(team):
    buffers = memory.plain(team)
    buffers.grow(4096)
    run = Run(team, CASES["allreduce"], DTYPES["int32"], "max", Options(effort=QUICK, graph=False), seed=1)
    assert run.measure([Ours(team, buffers)], 4096, False)[0].wrong == 0
    assert run.measure([Broken(team, buffers)], 4096, False)[0].wrong == 1


@pytest.mark.mpi(min_size=2)
def test_every_plan_is_right(team):
    """Plans of other blocks and pieces, among them pieces larger than any slot."""
    buffers = memory.plain(team)
    buffers.grow(1 << 20)
    run = Run(team, CASES["allreduce"], DTYPES["float16"], "sum", Options(effort=QUICK, graph=False), seed=2)
    rows = [row for row in TABLE.values() if not row.refuse(team.place, "float16", "sum")]
    kept = rows[team.n_pes % 3 :: 3]  # each at some rank count
    every = [Ours(team, buffers, row, name) for name, row in plan_overrides.combinations(kept, [7], [100, 1 << 30], [64])]
    assert [row.wrong for row in run.measure(every, 20003, False)] == [0] * len(every)


@pytest.mark.mpi(min_size=2)
def test_accuracy(team, tmp_path, capsys):
    """16-bit floats are added in float32: as near as rounding the true sum once, nearly always."""
    status, args = ended("accuracy", "--elements", "1000", "--output", str(tmp_path / "result.json"))
    assert status == 0
    if team.me == 0:
        rows = result.read(tmp_path / "result.json").accuracy
        assert [row["dtype"] for row in rows] == ["float16", "bfloat16"]
        assert all(row["floor"] <= row["mean"] <= 1.02 * row["floor"] and row["same_on_all"] for row in rows)
        assert "| bfloat16 | pennympi |" in capsys.readouterr().out


def test_a_plan_stays_inside_its_slots():
    limits = Limits(8, 1 << 16)
    for row in TABLE.values():
        largest = row.plan(1 << 40, 4, 4, Place((0, 0, 0)), limits).piece_elems
        plan = plan_overrides.with_plan(row, 100, 1 << 30, 96).plan(1000, 4, 4, Place((0, 0, 0)), limits)
        assert (plan.blocks, plan.piece_elems, plan.threads) == (8, largest, 96), row.name


def test_sizes():
    assert [sizes.parse(text) for text in ("8", "64K", "1G", "3m")] == [8, 1 << 16, 1 << 30, 3 << 20]
    assert sizes.sweep(1 << 10, 1 << 30, 4, 0) == [1 << k for k in range(10, 31, 2)]
    assert sizes.sweep(5, 20, 2, 5) == [5, 10, 15, 20] and sizes.show(1536) == "1.5 KiB"
    with pytest.raises(ValueError, match="64Q"):
        sizes.parse("64Q")
    with pytest.raises(ValueError, match="grow"):
        sizes.sweep(1, 8, 1, 0)


def test_the_help_says_the_rules_of_the_code(monkeypatch):
    monkeypatch.setenv("PENNYMPI_BACKEND", "host")
    parser = argparse.ArgumentParser()
    bench.arguments(parser)
    text = " ".join(parser.format_help().split())
    assert "largest (64M; 1M without a GPU, for more than 2 ranks a core)" in text
    assert "each with --topology, --blocks, --piece-bytes or --threads" in text and "of accuracy float16" in text
    for ranks_a_core, most_bytes in ((2, 64 << 20), (0, 1 << 20)):  # there is one rank
        monkeypatch.setattr(setup, "RANKS_A_CORE", ranks_a_core)
        assert setup.default_max_bytes() == most_bytes


def test_long_calls_get_fewer_repeats():
    assert Effort(budget_ms=100).series(2) == (20, 100)
    assert Effort(budget_ms=100).series(4500) == (4, 5)
    assert Effort(budget_ms=100, exact=True).series(4500) == (20, 5)


def test_pictures(tmp_path):
    rows = [
        result.Row("allreduce", name, "float32", "sum", size, size // 4, False, "host", us, us, us, 1.0, 1.0, 0)
        for name, us in (("pennympi", 1.0), ("mpi", 2.0))
        for size in (1024, 4096)
    ]
    found = result.Result({"PEs": 2, "device": "x"}, {}, rows)
    found.write(tmp_path / "a.json")
    assert result.read(tmp_path / "a.json") == found
    pytest.importorskip("matplotlib")
    written = plot.draw(found, tmp_path / "picture")
    assert [path.name for path in written] == ["picture.png", "picture.svg"] and all(p.stat().st_size for p in written)


def of(**us):
    """A result at two sizes: the times of each implementation, nccl_symmetric for nccl-symmetric."""
    rows = [
        result.Row("allreduce", name.replace("_s", "-s"), "float32", "sum", n, n // 4, False, "host", t, t, t, 1, 1, 0)
        for name, times in us.items()
        for n, t in zip((1024, 4096), times, strict=True)
    ]
    return result.Result({"PEs": 2, "device": "x"}, {}, rows)


def test_the_ratio_is_that_to_the_best():
    ours, many = {"pennympi": (2.0, 4.0)}, {"ring": (8.0, 3.0), "tree": (1.0, 9.0)}
    assert plot.ratio(of(**ours)) == ("", {})
    assert plot.ratio(of(**many)) == ("", {})
    assert plot.ratio(of(**ours, mpi=(3.0, 2.0))) == ("times faster than mpi", {1024: 1.5, 4096: 0.5})
    several = of(**ours, **many, nccl=(3.0, 20.0), nccl_symmetric=(5.0, 6.0))
    assert plot.ratio(several) == ("times faster than the best of the others", {1024: 1.5, 4096: 1.5})
    assert plot.ratio(of(**many, mpi=(3.0, 6.0)))[1] == {1024: 3.0, 4096: 2.0}, "of the fastest algorithm"
    assert plot.ratio(of(**ours, **many))[1] == {1024: 0.5, 4096: 0.75}, "what the choice costs"


def test_few_colours_and_names_that_do_not_touch():
    rows = {f"a{k}": (10.0 + k, 20.0 - k) for k in range(12)}
    found = plot.styles(of(pennympi=(1.0, 1.0), mpi=(2.0, 2.0), **rows))
    shown = {name: style["label"] for name, style in found.items() if "label" in style}
    assert shown == {"pennympi": "pennympi", "mpi": "mpi", "a0": "a0", "a11": "a11", "a1": "10 other algorithms"}
    assert len({style["color"] for style in found.values()}) == 5
    assert plot.ticks([8]) == [8] and plot.ticks([1000, 1024, 1 << 20]) == [1000, 1 << 20]
    assert len(plot.ticks([1 << k for k in range(3, 31)])) <= plot.MOST_TICKS


def test_a_result_that_cannot_be_read(tmp_path):
    path = tmp_path / "result.json"
    for text in ("", "[]", "{", '{"version": 1}', '{"version": 2}', '{"version": 2, "rows": [{"x": 1}]}', "[" * 100000):
        path.write_text(text)
        with pytest.raises(FileError, match=f"{path} is not a result of this version"):
            result.read(path)
