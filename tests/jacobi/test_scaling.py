"""Runs on several numbers of PEs, and the dry run."""

import csv

import pytest
from launch import launch, mpirun
from mpi4py import MPI

from apps.jacobi.cli import dry_run
from apps.jacobi.grid.fields import SPARE_ROWS
from apps.jacobi.grid.problem import Problem
from apps.jacobi.scaling import scaling

if MPI.COMM_WORLD.Get_size() > 1:
    pytest.skip("these tests start their own jobs: run them without mpirun", allow_module_level=True)

pytest.importorskip("matplotlib")


def test_weak_scaling_of_tiny_grids(tmp_path, capsys):
    table, picture = tmp_path / "s.csv", tmp_path / "s.png"
    line = f"--pes 1,2 --weak 16 --repeat 1 --niter 20 --output {table} --plot {picture}"
    assert scaling.main([*line.split(), "--launcher", f"{mpirun()} -np {{n}}"]) == 0
    rows = list(csv.DictReader(table.open()))
    assert [(row["kind"], row["pes"], row["nx"], row["ny"]) for row in rows] == [
        ("weak", "1", "16", "18"),
        ("weak", "2", "16", "34"),
    ]
    assert tuple(rows[0]) == scaling.FIELDS and all(row[name] != "" for row in rows for name in row)
    assert float(rows[0]["efficiency_percent"]) == 100 and rows[0]["variant"] != "default"
    assert picture.read_bytes()[:4] == b"\x89PNG" and capsys.readouterr().out.count("GLUP/s, efficiency") == 2


def test_efficiency_is_against_the_fastest_run_on_one_pe():
    rows = [
        {"kind": kind, "pes": pes, "glups": glups}
        for kind, pes, glups in (("strong", 1, 2.0), ("strong", 1, 4.0), ("strong", 4, 12.0), ("weak", 2, 9.0))
    ]
    scaling.compare(rows)
    assert [row["efficiency_percent"] for row in rows] == [50.0, 100.0, 75.0, ""]
    assert [row["speedup"] for row in rows] == [0.5, 1.0, 3.0, ""]


def test_cases_of_a_scaling_run():
    options = scaling.parser().parse_args("--pes 4,1,4 --strong 100 --weak 10".split())
    assert scaling.cases(options) == [
        ("strong", 1, 100, 100),
        ("strong", 4, 100, 100),
        ("weak", 1, 10, 12),
        ("weak", 4, 10, 42),
    ]


@pytest.mark.parametrize(
    "line,status,message",
    [
        ("", 2, "give --strong N, --weak M, or both"),
        ("--strong 9 --pes 1,0", 2, "--pes"),
        ("--strong 9 --launcher srun", 2, "has no {n}"),
        ("--strong 9 --output /nowhere/s.csv", 2, "/nowhere/s.csv cannot be written"),
        ("--strong 9 --pes 1 --repeat 1 --launcher false{n}", 1, "strong run on 1 PEs failed"),
        ("--strong 9 --pes 1 --repeat 1 --launcher false{x}{n}", 1, "strong run on 1 PEs failed"),
        ("--strong 9 --launcher mpirun'{n}", 2, "is not a command (no closing quotation)"),
        ("--strong 9 --variants fast", 2, "there is no variant 'fast': choose from single, mpi"),
        ("--strong 9 --pes 1,,2", 2, "'' is not a whole number"),
    ],
)
def test_bad_scaling_runs(tmp_path, monkeypatch, capsys, line, status, message):
    monkeypatch.chdir(tmp_path)
    try:
        ended = scaling.main(line.split())
    except SystemExit as stop:
        ended = stop.code
    assert ended == status and message in capsys.readouterr().err


def test_dry_run_starts_nothing():
    ended = launch(2, *"-m apps.jacobi --dry-run --nx 40 --ny 50".split(), limit_s=90)
    assert ended.rc == 0 and "PEs 0 to 1: 24 rows each, global rows 1 to 48" in ended.output, ended.output
    assert "Copy measured now on 2 PEs" in ended.output and ended.output.count("Estimated:") == 1
    assert "Jacobi relaxation:" not in ended.output


def test_dry_run_says_when_memory_is_short(monkeypatch):
    class Team:
        backend = "cuda"

    problem = Problem(16384, 16384)
    for free, said in ((1 << 30, "1.00 GiB free on PE 0's device: DOES NOT FIT"), (9 << 30, "device: fits")):
        monkeypatch.setattr(dry_run, "free_bytes", lambda team, free=free: free)
        lines = dry_run._memory(Team(), problem, 2, "nvshmem_overlap")
        fields = 2 * (8191 + 2 + SPARE_ROWS) * 16384 * 4
        assert (
            f"Memory a PE: {fields} bytes (1.00 GiB) of fields, a symmetric heap of {fields + (256 << 20)} bytes"
            in lines[0]
        )
        assert lines[0].endswith(said)
