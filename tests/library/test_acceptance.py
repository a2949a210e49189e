"""The table of `jobscripts/acceptance.sbatch`: what went wrong is said, and what each NIC moved."""

import importlib
import json
from dataclasses import replace

import pytest

from pennympi.bench.result import Result, Row

acceptance = importlib.import_module("benchmarks.acceptance")
ROW = Row("allreduce", "ring", "float32", "sum", 1024, 256, False, "graph", 12.5, 13.0, 12.0, 0.1, 0.1, 0)
MIB = 1 << 20


@pytest.fixture
def out(tmp_path):
    """A folder as a run without a fault leaves it."""
    (tmp_path / "steps.txt").write_text("report 0\nbench-allreduce 0\n")
    (tmp_path / "report.txt").write_text("links   1 of 2 PEs by pointer\nand more\n")
    rows = [ROW, replace(ROW, implementation="nccl", median_us=20.0)]
    Result({}, {"case": "allreduce"}, rows, refused={"packets": "no NVLink"}).write(tmp_path / "bench-allreduce.json")
    (tmp_path / "solver-device.txt").write_text("...\nPASS: 0 points differ\n")
    for when, moved in (("before", 5), ("after", 5 + 3 * MIB)):
        counted = {"mlx5_0:1": (moved, 2 * moved), "mlx5_1:1": (7, 7)}
        (tmp_path / f"nics.{when}-bench-allreduce.host-a.example.json").write_text(json.dumps(counted))
    return tmp_path


def test_a_run_without_a_fault(out, capsys):
    assert acceptance.table(out) == 0
    said = capsys.readouterr().out
    assert "bench-allreduce  host-a.example: mlx5_0:1 3 MiB out, 6 MiB in\n" in said and "mlx5_1" not in said
    lines = [line.split() for line in said.splitlines()]
    assert ["allreduce", "ring", "right", "12.5"] in lines and ["allreduce", "nccl", "right", "20.0"] in lines
    assert "allreduce packets" in said and "cannot run here: no NVLink" in said and "\nPASS\n" in said


@pytest.mark.parametrize("fault", ["step", "wrong", "solver", "silent"])
def test_what_went_wrong_is_said(out, capsys, fault):
    if fault == "step":
        (out / "steps.txt").write_text("report 0\nbench-put 124\n")
    elif fault == "wrong":
        Result({}, {"case": "allreduce"}, [replace(ROW, wrong=3)]).write(out / "bench-allreduce.json")
    else:
        (out / "solver-device.txt").write_text("FAIL: 9 points differ\n" if fault == "solver" else "killed\n")
    assert acceptance.table(out) == 1
    said = capsys.readouterr().out
    words = {
        "step": "FAILED, status 124: see bench-put.txt",
        "wrong": "WRONG",
        "solver": "FAIL: 9",
        "silent": "no verdict",
    }
    assert words[fault] in said and "\nFAIL: 1 of the above\n" in said
