"""The example of a solver on a grid: the bits of its field, its check, checkpoints, picture and options."""

import re
import runpy
import sys

import h5py
import numpy as np
import pytest
from halo_reference import own_of
from mpi4py import MPI
from on_device import device, to_numpy
from sweep_reference import swept

import pennympi
from apps.heat3d import __main__ as heat3d

COMM = MPI.COMM_WORLD
N_PES = COMM.size
pytestmark = pytest.mark.mpi


def assert_numpys_bits(team, grid, field, points, n):
    """Assert that the field after n steps from ``points`` of the whole grid has NumPy's bits."""
    computed, (right, _) = grid.gather(field), swept(heat3d.step, np.pad(points, 1), (False,) * 3, n)
    assert all(team.gather(computed is None or computed.tobytes() == right.tobytes())), (grid, n)


@pytest.mark.parametrize(("engine", "depth"), [("auto", None), ("plain", None), ("blocked", 2), ("resident", 2)])
def test_the_field_has_numpys_bits(team, engine, depth):
    if engine == "resident" and team.backend == "cuda":
        pytest.skip("on GPUs the resident engine is for grids of two dimensions")
    points = np.random.default_rng(3).random((4 * N_PES + 1, 9, 33)).astype("float32")
    grid = team.grid(points.shape, halo=depth or 1)
    heat = heat3d.Heat(team, grid, device(team, own_of(grid, points)), engine=engine, depth=depth)
    for n in (1, 6, 27):
        assert_numpys_bits(team, grid, heat.advance(n), points, n)


@pytest.fixture
def run(team, monkeypatch, capfd):  # the session's team comes first, since other teams are parts of it
    def program(*options):
        """(exit status, printed text) of the program on these ranks."""
        monkeypatch.setattr(sys, "argv", ["heat3d", *map(str, options)])
        status = 0
        try:
            runpy.run_module("apps.heat3d", run_name="__main__")
        except SystemExit as ended:
            status = ended.code
        COMM.Barrier()
        return status, "".join(capfd.readouterr())

    return program


@pytest.mark.filterwarnings("ignore:.*found in sys.modules")
def test_the_program(team, run, tmp_path):
    """The check; a run that continues on these PEs, and on one PE, has an unbroken run's bits; the picture; and FAIL."""
    pytest.importorskip("matplotlib")
    path, picture = COMM.bcast(tmp_path / "run.h5"), COMM.bcast(tmp_path / "heat.png")
    grid = ("--nx", 20, "--ny", 21, "--nz", 2 * N_PES + 13)
    status, text = run(*grid, "--verify", "--niter", 123)
    assert status == 0 and (team.me or re.search(r"^PASS error: 0\.\d+ of what", text, re.MULTILINE)), text
    run(*grid, "--niter", 35, "--every", 20, "--checkpoint", path)
    restart = ("--checkpoint", path, "--restart", "--engine", "blocked")
    status, text = run(*grid, "--niter", 57, *restart, "--plot", picture)
    assert status == 0 and (team.me or ("steps 35 to 57: " in text and picture.read_bytes()[:4] == b"\x89PNG")), text
    with h5py.File(path) as file:
        assert file.attrs["done"] == 57
    with pennympi.init(MPI.COMM_SELF) as alone:
        whole = alone.grid((20, 21, 2 * N_PES + 13))
        u = whole.zeros("float64")
        done = whole.load(path, u=u)["done"]
        x, y, z = ((i + 0.5) / n for i, n in zip(whole.coordinates(), whole.shape, strict=True))
        ball = ((x - 0.4) ** 2 + (y - 0.4) ** 2 + (z - 0.6) ** 2 < 0.05).astype("float64")
        heat = heat3d.Heat(alone, whole, whole.interior(u), done)
        assert_numpys_bits(alone, whole, heat.advance(77), to_numpy(ball), 77)
    COMM.Barrier()
    status, text = run(*grid, "--niter", 60, "--checkpoint", path, "--restart", "--verify")
    assert status and (team.me or "FAIL error" in text), text
    if team.me == 0:
        with h5py.File(path, "r+") as file:
            file.attrs["done"] = "57"
    for name, why in ((path, "holds no number of steps"), (path.with_name("none.h5"), "o such file")):
        status, text = run(*grid, "--checkpoint", name, "--restart")
        assert status == 1 and (team.me or (text.startswith("error: --restart: ") and why in text)), text
    for options in (("--every", "0"), ("--niter", "0"), ("--dims", "2"), ("--restart",)):
        status, text = run(*options)
        assert status == 2 and text.count("error: ") == text.count("\n") == (team.me == 0), text
