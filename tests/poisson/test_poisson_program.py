"""The program as a user types it: exit statuses, right-hand sides, files, restarts, signals, bad options."""

import signal
import sys

import h5py
import numpy as np
import pytest
from launch import ROOT, TRACEBACK, launch

LIMIT_S = 120
ONE = "def f(x, y, z=0.0):\n    return 1.0 + 0.0 * (x + y + z)\n"


def run(n_pes, line, **more):
    return launch(n_pes, "-m", "apps.poisson", *line.split(), limit_s=LIMIT_S, **more)


def contents(path):
    with h5py.File(path) as file:
        return file["u"][:], file["residual/norm"][:]


@pytest.mark.parametrize(
    ("n_pes", "line"),
    [
        (4, "--shape 31x31x31 --plot {0}/u.png"),
        (1, "--shape 63x31 --preconditioner multigrid --plot {0}/u.png"),
        (3, "--shape 32x30 --periodic xy --preconditioner chebyshev --dtype float32 --plot {0}/u.png"),
        (2, "--shape 15x16x15 --periodic y --variant persistent --preconditioner jacobi --plot {0}/u.png"),
    ],
)
def test_verify(tmp_path, n_pes, line):
    pytest.importorskip("matplotlib")
    ended = run(n_pes, f"{line.format(tmp_path)} --verify --must-converge")
    assert ended.rc == 0, ended.output
    assert "\nPASS: root mean square of the error " in ended.output and "the residual is at most --tol" in ended.output
    assert (tmp_path / "u.png").read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"


def test_right_sides_are_alike(tmp_path):
    """A file of NumPy, one of HDF5, and a function: the same bits of u in the files that are written."""
    shape = (9, 10, 8)
    np.save(tmp_path / "f.npy", np.ones(shape))
    with h5py.File(tmp_path / "f.h5", "w") as file:
        file["load/f"] = np.ones(shape)
    (tmp_path / "mine.py").write_text(ONE)
    sides = [f"{tmp_path}/f.npy", f"{tmp_path}/f.h5:load/f", "mine:f --shape 9x10x8"]
    found = []
    for n_pes, side in enumerate(sides, 1):
        env = {"PYTHONPATH": f"{ROOT}:{tmp_path}"}
        ended = run(n_pes, f"--rhs {side} --output {tmp_path}/u{n_pes}.h5", env=env)
        assert ended.rc == 0, ended.output
        found.append([one.tobytes() for one in contents(tmp_path / f"u{n_pes}.h5")])
    assert found[0] == found[1] == found[2]


def test_a_restart_has_the_same_bits(tmp_path):
    """On other numbers of PEs, by another variant, with a preconditioner that has a field, over a replaced residual."""
    shape = "--shape 31x33 --preconditioner chebyshev --replace 20"
    assert run(2, f"{shape} --output {tmp_path}/whole.h5").rc == 0
    assert run(3, f"{shape} --niter 10 --checkpoint {tmp_path}/run.h5").rc == 0
    ended = run(1, f"--niter 500 --variant mpi --checkpoint {tmp_path}/run.h5 --restart --output {tmp_path}/again.h5")
    assert ended.rc == 0 and f"Going on from iteration 10 of {tmp_path}/run.h5" in ended.output, ended.output
    whole, again = contents(tmp_path / "whole.h5"), contents(tmp_path / "again.h5")
    assert len(whole[1]) > 20 and [one.tobytes() for one in whole] == [one.tobytes() for one in again]


def test_a_signal_ends_with_a_checkpoint(tmp_path):
    line = f"-m apps.poisson --shape 300x300 --tol 0 --niter 1000000 --checkpoint {tmp_path}/run.h5"
    act = ("it/s", lambda process: process.send_signal(signal.SIGTERM))  # the first line of the progress
    ended = launch(1, *line.split(), limit_s=LIMIT_S, command=[sys.executable], act=act)
    assert ended.rc == 5 and "Interrupted after " in ended.output, ended.output
    with h5py.File(tmp_path / "run.h5") as file:
        assert file.attrs["iterations"] == len(file["residual/norm"]) > 0


def test_statuses(tmp_path):
    assert run(1, "--shape 20x20 --niter 10 --must-converge").rc == 4
    np.save(tmp_path / "f.npy", np.full((9, 9), np.inf))
    ended = run(2, f"--rhs {tmp_path}/f.npy")
    assert ended.rc == 3 and "DIVERGED" in ended.output, ended.output


BAD = {
    "--shape 5": "'5' is not two or three numbers of points",
    "--shape 1x9": "is not two or three numbers of points from 2 on",
    "--check 3": "3 is not even",
    "--replace 15": "--replace 15 is not a multiple of --check 10",
    "--periodic q": "'q' is not made of the letters x, y and z",
    "--shape 9x9 --periodic z": "the grid has 2 dimensions, x, y",
    "--rhs nothing": "--rhs nothing is neither manufactured, nor a .npy or .h5 file, nor MODULE:FUNCTION",
    "--rhs none.npy": "none.npy holds no array",
    "--rhs math:sin --verify": "--verify knows the solution of the manufactured right-hand side only",
    "--shape 16x16 --preconditioner multigrid": "multigrid has no coarser grid for (16, 16) points: take odd numbers",
    "--variant nccl": "--variant nccl cannot run here: NCCL needs GPUs",
    "--variant persistent --preconditioner multigrid": "it has the preconditioners none and jacobi",
    "--restart": "--restart without a file takes the one of --checkpoint",
    "--restart none.h5": "--restart none.h5: there is no such file; go on from an older checkpoint",
    "--output /nowhere/u.h5": "--output /nowhere/u.h5 cannot be written: no such file or directory",
}


@pytest.mark.parametrize("line", BAD)
def test_bad_options(line):
    ended = run(2, f"{line} --backend host")
    errors = [one for one in ended.output.splitlines() if one.startswith("poisson: error: ")]
    assert ended.rc == 2 and len(errors) == 1 and BAD[line] in errors[0], ended.output
    assert TRACEBACK not in ended.output


@pytest.mark.parametrize("change", ["cut", "other", "result"])
def test_bad_checkpoints(tmp_path, change):
    """A file that is cut short, of something else, or of a result: one line, status 2."""
    path = tmp_path / "run.h5"
    option = "--output" if change == "result" else "--checkpoint"
    assert run(1, f"--shape 9x9 --niter 10 {option} {path}").rc == 0
    if change == "cut":
        path.write_bytes(path.read_bytes()[:1000])
    if change == "other":
        with h5py.File(path, "w") as file:
            file["u"] = np.zeros(3)
    ended = run(2, f"--restart {path}")
    assert ended.rc == 2 and f"poisson: error: --restart {path}: it" in ended.output, ended.output
    assert TRACEBACK not in ended.output
