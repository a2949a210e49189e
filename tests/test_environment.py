"""python -m pennympi: printed once, and it names all that there is."""

import subprocess
import sys

import pytest
from launch import ROOT, launch
from mpi4py import MPI
from settled import settled

from pennympi.kernels.allreduce import TABLE
from pennympi.kernels.exchange import TABLE as FORMS

if MPI.COMM_WORLD.Get_size() > 1:
    pytest.skip("these tests start their own jobs: run them without mpirun", allow_module_level=True)


def check(text, n_pes, backend):
    lines = text.splitlines()
    facts = {line[:20].strip(): line[20:].strip() for line in lines if len(line) > 21 and line[19:21].startswith(" ")}
    assert "mpi4py" in facts["MPI"] and "(MPI " in facts["MPI"]
    assert facts["backend"].startswith(backend)
    assert facts["device"] and facts["links"]
    assert [line.split()[:2] for line in lines if line.startswith("  PE ")] == [["PE", str(pe)] for pe in range(n_pes)]
    assert text.count("AllReduce algorithms") == 1 and text.count("PE map") == 1
    for name in (*TABLE, *FORMS):
        found = [line for line in lines if line.split()[:1] == [name]]
        assert len(found) == 1 and len(found[0].split()) > 3, f"{name}: {found}"


def test_alone():
    import os

    env = {**os.environ, **settled(1), "PYTHONPATH": str(ROOT)}
    ended = subprocess.run(
        [sys.executable, "-m", "pennympi"], env=env, cwd=ROOT, capture_output=True, text=True, timeout=200
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert not ended.stderr, ended.stderr
    check(ended.stdout, 1, settled(1)["PENNYMPI_BACKEND"])


def test_two_ranks():
    ended = launch(2, "-m", "pennympi", env=settled(2), limit_s=200)
    assert ended.rc == 0, ended.output
    check(ended.output, 2, settled(2)["PENNYMPI_BACKEND"])
