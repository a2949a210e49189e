"""The commands of benchmarks/measure.py, and what is taken of the output of NVIDIA's samples."""

import argparse
import importlib
from pathlib import Path

import pytest

from pennympi.command import bench

FOLDER = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture
def script(monkeypatch):
    """Imports a script of benchmarks/."""
    monkeypatch.syspath_prepend(str(FOLDER))
    return importlib.import_module


def test_every_command_is_one(script):
    parser = argparse.ArgumentParser()
    bench.arguments(parser)
    for name, command in script("measure").COMMANDS.items():
        words = command.words.split()
        if words[:3] == ["-m", "pennympi", "bench"]:
            parser.parse_args(words[3:])
        else:
            assert (FOLDER.parent / words[0]).is_file(), name


def test_the_documents_are_what_the_results_make(script):
    assert script("tables").main(["--check"]) == 0


def test_a_sample_that_does_not_solve_has_no_time(script):
    nvidia = script("nvidia")
    line = "GPU Final\ncg, double, 64, 200, 12.5, 1.0e-03, {}\n"
    assert nvidia.cg_us(line.format("1.0e-03"), 64) == 12.5
    for text in (line.format("9.0e-03"), line.format("nan"), "out of memory", ""):
        with pytest.raises(ValueError):
            nvidia.cg_us(text, 64)
    assert nvidia.csv_seconds("nccl_overlap, 4096, 4096, 1000, 1, 2, 1, 0.25, 0.5\n", 4096) == 0.25
    assert nvidia.csv_seconds("single_gpu, 4096, 4096, 1000, 1, 0.5\n", 4096) == 0.5
    with pytest.raises(ValueError, match="it printed nothing"):
        nvidia.csv_seconds("", 4096)
