"""``python -m pennympi precompile``: what it compiles is what a team then finds."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from mpi4py import MPI

from pennympi.arrays.dtypes import TABLE as DTYPES
from pennympi.command.ahead import COLLECTIVES, Machine, jobs, rows

ROOT = Path(__file__).resolve().parents[2]
CPU, HOPPER = Machine(()), Machine((9, 0))
if MPI.COMM_WORLD.Get_size() > 1:
    pytest.skip("these tests start their own processes: run them without mpirun", allow_module_level=True)


def precompile(line, cache):
    env = os.environ | {"PENNYMPI_CACHE_DIR": str(cache), "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "pennympi", "precompile", *line.split()]
    return subprocess.run(command, env=env, cwd=ROOT, capture_output=True, text=True, timeout=300)


def test_a_cpu_needs_each_algorithm_once():
    found = list(jobs(CPU, [2, 4], ["allreduce", "broadcast"], ["float32"], ["sum", "max"]))
    assert [job.which for job in found if job.what == ""] == [0, 1, 2, 3, 4]
    assert {job.which for job in found if job.what == "broadcast"} == set(rows("broadcast", CPU))
    assert sum(job.what == "allreduce" for job in found) == 2 * len(rows("allreduce", CPU)), "an op has its own loops"
    assert len(found) == len(set(found))


def test_a_gpu_needs_one_for_each_number_of_pes_and_alignment():
    found = list(jobs(HOPPER, [2, 4], ["reduce"], ["float32", "int64"], ["sum"]))
    assert len(found) == 2 * 5 + len(rows("reduce", HOPPER)) * 2 * 2 * 2
    assert len(found) == len(set(found))


@pytest.mark.parametrize("collective", COLLECTIVES)
def test_every_collective_has_rows(collective):
    for machine in (CPU, HOPPER, Machine((8, 0), True)):
        assert rows(collective, machine)


def test_a_team_compiles_nothing_more(tmp_path):
    """Of the one-sided operations, which every team loads when it begins."""
    ended = precompile("2 --collectives broadcast -j 2", tmp_path)
    if re.search(r"kernels for sm_", ended.stdout):
        pytest.skip("this machine has a GPU, and what it compiles is looked up by tests on two GPUs")
    assert ended.returncode == 0, ended.stderr
    count = len(list(jobs(CPU, [2], ["broadcast"], ["float32"], ["sum"])))
    assert re.fullmatch(rf"{count} kernels for this CPU in \d+ s, kept in {tmp_path}\n", ended.stdout), ended.stdout
    env = os.environ | {"PENNYMPI_CACHE_DIR": str(tmp_path), "PYTHONPATH": str(ROOT)}
    line = "import pennympi; team = pennympi.init(backend='host'); print(pennympi.timings())"
    said = subprocess.run([sys.executable, "-c", line], env=env, cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert "kernels: loaded" in said.stdout and "kernels: compiled" not in said.stdout, said


def test_dtypes_of_the_default():
    from pennympi.command.precompile import DEFAULT_DTYPES

    assert set(DEFAULT_DTYPES) <= set(DTYPES)
