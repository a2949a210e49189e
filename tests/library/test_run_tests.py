"""tools/run_tests.py: failures, errors, crashes and hangs of any rank are shown, and named before the last line."""

import re
import sys

import pytest
import run_tests
from launch import mpirun

PLANTED = """
import ctypes
import os
import time

import pytest
from mpi4py import MPI

pytestmark = pytest.mark.mpi
world = MPI.COMM_WORLD
last = world.rank == world.size - 1


@pytest.fixture
def before():
    assert not last, "planted before"


@pytest.fixture
def after():
    yield
    assert not last, "planted after"


def test_right():
    pass


def test_failure():
    assert not last, "planted failure"


def test_setup(before):
    world.Barrier()


def test_teardown(after):
    pass


def test_segv():
    if last:
        ctypes.string_at(0)
    world.Barrier()


def test_exit():
    if last:
        os._exit(3)
    world.Barrier()


def test_hang():
    while last:
        time.sleep(0.1)
    world.Barrier()
"""
EXIT_ON_TIMEOUT = ("-o", "faulthandler_timeout=3", "-o", "faulthandler_exit_on_timeout=true")


@pytest.fixture
def run(tmp_path, monkeypatch, capfd):
    """A function that returns the output of tools/run_tests.py, which must fail, and the lines that name failures."""
    planted, broken = tmp_path / "test_planted.py", tmp_path / "test_broken.py"
    planted.write_text(PLANTED)
    broken.write_text("import pytest\npytestmark = pytest.mark.mpi\nimport no_such_module\n")
    monkeypatch.setattr(run_tests, "OUTPUT", tmp_path / "output")
    monkeypatch.setattr(run_tests, "OTHERS_S", 0.5)

    def run(ranks, tests, last, *others):
        options = ["--ranks", ranks, "--mpirun", mpirun(), "--limit", "100", "--", *EXIT_ON_TIMEOUT]
        monkeypatch.setattr(sys, "argv", ["run_tests.py", *options, "-k", tests, str(planted), *map(str, others)])
        assert run_tests.main() == 1
        output = capfd.readouterr().out
        body, _, end = output.rpartition(" s\n")
        *lines, counted = end.splitlines()
        assert counted == last, output
        return body, [re.sub(r" \S*/test_(planted|broken)", " ", line).partition(" - ")[0] for line in lines]

    run.broken = broken
    return run


def test_in_one_process(run):
    body, named = run("1", "not exit and not hang", "2 passed, 5 failed", run.broken)
    tests = ["FAILED .py::test_failure", "FAILED .py::test_segv", "ERROR .py::test_setup", "ERROR .py::test_teardown"]
    assert sorted(named) == sorted(f"one process, rank0: {line}" for line in [*tests, "ERROR .py"])
    for text in ("planted failure", "planted before", "planted after", "No module named 'no_such_module'"):
        assert f"Error: {text}" in body
    assert re.search(r"Segmentation fault(\n.*)+ in test_segv\n", body)


@pytest.mark.parametrize(
    ("test", "line", "shown"),
    [
        ("setup", "ERROR .py::test_setup", "AssertionError: planted before"),
        ("segv", r"status \d+ in .py::test_segv", r"Segmentation fault(\n.*)+ in test_segv\n"),
        ("exit", "status 3 in .py::test_exit", "test_exit"),
        ("hang", "hung, .* in .py::test_hang", r"Timeout \(0:00:03\)!(\n.*)+ in test_hang\n"),
    ],
    ids=("setup", "segv", "exit", "hang"),
)
def test_in_one_of_two_ranks(run, test, line, shown):
    body, named = run("2", test, "0 passed, 1 failed")
    assert len(named) == 1 and re.fullmatch(rf"np 2, rank\d: {line}", named[0]), named
    assert re.search(shown, body), body
