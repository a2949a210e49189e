"""The commands of benchmarks/measure.py, and the tables of the documents."""

import argparse
import importlib
from pathlib import Path

import pytest

from pennympi.command import bench

FOLDER = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture
def script(monkeypatch):
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
