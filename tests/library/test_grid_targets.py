"""What the documents say of targets and floors, and what is taken of the output of NVIDIA's conjugate gradients."""

import importlib
from pathlib import Path

import pytest

FLOORS = [
    {"what": "a kernel that does nothing", "mode": "graph", "us": 1.0},
    {"what": "AllReduce of one float64", "mode": "graph", "us": 2.0},
    {"what": "copy to the next PE", "mode": "eager", "us": 100.0, "GB_per_s": 400.0},
    {"what": "copy of a field", "mode": "graph", "us": 3.0, "points": 64},
]


@pytest.fixture
def script(monkeypatch):
    """Imports a script of benchmarks/."""
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2] / "benchmarks"))
    return importlib.import_module


def result(**parts):
    """A result of two PEs with these rows."""
    return {"2": {"parts": {name: {"rows": rows} for name, rows in parts.items()}}}


def iterations(**us):
    return [{"shape": [64, 64, 64], "variant": name, "us": one} for name, one in us.items()]


def test_a_floor_is_launches_and_bytes(script):
    targets, data = script("grids_targets"), result(floor=FLOORS)
    assert targets.iteration_floor(data, 64, 2) == 4 * (3.0 - 1.0) + 2 * 2.0
    assert targets.iteration_floor(data, 128, 2) is None
    assert targets.exchange_floor(data, 64, True) == pytest.approx(2.0 + 2 * 64 * 64 * 8 / 400e3)
    assert targets.exchange_floor(result(), 64, True) is None


def test_a_target_that_nothing_can_reach_is_called_so(script):
    targets = script("grids_targets")
    slow = [row | {"us": 3.5} if row.get("points") else row for row in FLOORS]  # 14 us in all
    for floors, us, reached in (
        (FLOORS, 11.9, "yes"),
        (FLOORS, 12.1, "no"),
        (slow, 14.5, "no: the target is below the floor"),
    ):
        _, lines = targets.of_poisson(result(floor=floors, cg=iterations(stream=99.0, persistent=us)))
        assert lines[0][-1] == reached


def test_others_are_compared_by_their_fastest(script):
    rows = iterations(graph=10.0, mpi=500.0, nccl=90.0) + iterations(**{"nccl-graph": 19.0})
    rows += [{"shape": [64, 64, 64], "variant": "cupyx.scipy.sparse.linalg.cg", "refused": "no SciPy"}]
    theirs = iterations(**{"NVIDIA's sample, double": 30.0, "NVIDIA's sample, float": 1.0})
    _, lines = script("grids_targets").of_poisson(result(floor=FLOORS, cg=rows, nvidia_cg=theirs))
    assert [line[3:] for line in lines[1:]] == [["1.90 times faster", "no"], ["3.00 times faster", "yes"]]


def test_a_sample_that_does_not_solve_has_no_time(script):
    read = script("nvidia_cg").read
    line = "GPU Final\ncg, double, 64, 200, 12.5, 1.0e-03, {}\n"
    assert read(line.format("1.0e-03"), 64) == (12.5, 1e-3)
    for text in (line.format("9.0e-03"), line.format("nan"), "out of memory", ""):
        with pytest.raises(ValueError):
            read(text, 64)
    with pytest.raises(ValueError):
        read(line.format("1.0e-03"), 128)
