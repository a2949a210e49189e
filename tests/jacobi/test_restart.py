"""Runs that end early, by SIGKILL during a write or by another signal, and restarts after them."""

import os
import re
import signal
import time
from dataclasses import replace
from pathlib import Path

import h5py
import numpy as np
import pytest
from launch import _tagged, launch
from mpi4py import MPI

from apps.jacobi.cli import cli
from apps.jacobi.grid.problem import Problem
from apps.jacobi.storage import restart
from apps.jacobi.storage.files import FieldFile
from apps.jacobi.storage.seal import row_checksums
from apps.program.outcome import Outcome
from apps.program.whole_files import part_name

if MPI.COMM_WORLD.Get_size() > 1:
    pytest.skip("these tests start their own jobs: run them without mpirun", allow_module_level=True)

LIMIT_S = 120
FOR_EVER = "--niter 1000000000 --no-serial --tol 0"


def jacobi(n_pes, line, *more, act=None):
    """Run the program to its end.  It must neither hang nor leave processes behind."""
    ended = launch(n_pes, "-m", "apps.jacobi", *line.split(), *map(str, more), limit_s=LIMIT_S, act=act)
    assert ended.rc is not None, f"hangs:\n{ended.output}"
    assert not ended.left_alive
    return ended


def pid_of(process, rank):
    """The process id of one rank of a job."""
    tag = re.search(r"LAUNCH_TAG=(\w+)", Path(f"/proc/{process.pid}/environ").read_text())[1]
    for pid in _tagged(tag):
        if re.search(rf"\0(PMI|OMPI_COMM_WORLD)_RANK={rank}\0", "\0" + Path(f"/proc/{pid}/environ").read_text()):
            return pid
    raise AssertionError(f"no rank {rank}")


def iterations(path):
    return restart.Source(MPI.COMM_SELF, path).outcome.iterations


def contents(path):
    """(bytes of the field, history as text)."""
    with h5py.File(path) as file:
        return file["field"][:].tobytes(), str(
            list(zip(file["residual/iteration"][:], file["residual/norm"][:], strict=True))
        )


def killed_while_writing(path, line):
    """Kill PE 0 of a run while it writes a checkpoint and an older one exists.  True if the kill came in time."""

    def kill(process):
        victim, deadline = pid_of(process, 0), time.monotonic() + LIMIT_S / 2
        while time.monotonic() < deadline:
            if path.exists() and part_name(path).exists():
                os.kill(victim, signal.SIGKILL)
                return
            time.sleep(0.0005)
        os.kill(victim, signal.SIGKILL)

    ended = jacobi(3, f"{line} {FOR_EVER} --checkpoint-every 4 --checkpoint", path, act=("    0, ", kill))
    assert ended.rc != 0, ended.output
    return path.exists() and part_name(path).exists()


def test_killed_while_writing(tmp_path):
    path, whole = tmp_path / "run.h5", tmp_path / "whole.h5"
    line = "--nx 700 --ny 803 --dtype float64 --nccheck 3 --method chebyshev"
    assert any(killed_while_writing(path, line) for _ in range(5)), "never hit the moment"
    done = iterations(path)
    assert done and done % 4 == 0
    for n_pes in (5, 1):
        done += 10
        ended = jacobi(n_pes, f"--niter {done} --tol 0 --no-serial --checkpoint {path} --restart")
        assert ended.rc == 0 and f"Going on from iteration {done - 10}" in ended.output, ended.output
    assert iterations(path) == done and not part_name(path).exists()
    ended = jacobi(2, f"{line} --niter {done} --tol 0 --no-serial --verify --output", whole)
    assert ended.rc == 0 and "PASS: 0 points differ" in ended.output, ended.output
    assert contents(path) == contents(whole)


def test_signals_to_one_rank(tmp_path):
    path = tmp_path / "run.h5"

    def disturb(process):
        os.kill(pid_of(process, 1), signal.SIGUSR1)
        deadline = time.monotonic() + LIMIT_S / 2
        while not path.exists() and time.monotonic() < deadline:
            time.sleep(0.01)
        assert process.poll() is None, "SIGUSR1 goes on"
        os.kill(pid_of(process, 2), signal.SIGTERM)

    ended = jacobi(3, f"--nx 60 --ny 50 {FOR_EVER} --checkpoint", path, act=("    0, ", disturb))
    assert ended.rc == 5 and "Interrupted after" in ended.output, ended.output
    done = iterations(path)
    assert f"Interrupted after {done} iterations" in ended.output
    ended = jacobi(2, f"--niter {done + 30} --restart", path, "--verify", "residual")
    assert ended.rc == 0 and "PASS" in ended.output, ended.output


def test_a_stopped_rank_ends_the_job():
    """The others wait for it in MPI, which knows no deadline."""
    line = "--variant mpi --backend host --nx 60 --ny 50"
    assert jacobi(3, f"{line} --niter 2").rc == 0  # compiles, which may take longer than the deadline below
    act = ("    0, ", lambda process: os.kill(pid_of(process, 1), signal.SIGSTOP))
    program = f"-m apps.jacobi {line} {FOR_EVER}".split()
    ended = launch(3, *program, limit_s=LIMIT_S, env={"PENNYMPI_TIMEOUT_S": "3"}, act=act)
    assert ended.rc not in (0, None) and not ended.left_alive, ended.output
    said = [text for text in ended.output.splitlines() if "PE 1" in text and "stopped" in text]
    assert len(said) == 1 and "Traceback" not in ended.output, ended.output


def test_what_a_restart_refuses_and_notices(tmp_path, capsys):
    path = tmp_path / "bad.h5"
    problem, rows = Problem(20, 18, niter=50), np.zeros((16, 20), "float32")
    rows[5, 7] = np.nan
    file = FieldFile(path, problem)
    file.write("field", 1, rows)
    file.add_checksums("field", row_checksums(rows))
    file.finish(Outcome(10))
    before, refused = (
        path.read_bytes(),
        {"--nx 21": "holds --nx 20, not 21: leave --nx out", "--niter 10": "has 10 iterations"},
    )
    for line, message in refused.items():
        with pytest.raises(SystemExit) as stop:
            cli.parse(MPI.COMM_WORLD, [*line.split(), "--restart", str(path)])
        assert stop.value.code == 2 and message in capsys.readouterr().err
    options, found = cli.parse(MPI.COMM_WORLD, ["--niter", "60", "--restart", str(path)])
    assert found == replace(problem, niter=60) and options.saved.outcome.iterations == 10
    ended = jacobi(3, f"--no-serial --checkpoint {path} --restart")
    assert ended.rc == 3 and "DIVERGED" in ended.output, ended.output
    assert path.read_bytes() == before, "a diverged field is no checkpoint"
