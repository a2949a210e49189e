"""The parts of the solver: halo signals, boundary, pictures, files."""

import itertools
import math
import resource

import numpy as np
import pytest
from limits import limited
from mpi4py import MPI

import pennympi
from apps.jacobi import report, storage
from apps.jacobi.problem import Problem, column, initial_field
from apps.jacobi.tiles import Neighbours, signal_word
from apps.jacobi.variants import make_solver
from apps.program.outcome import Outcome


def test_exchanges_under_way_share_no_word():
    """The signals of exchanges k and k+1 may be under way together, and a network may deliver them in any order."""
    neighbours = Neighbours(up=1, down=1, rows_above=5, across=3, signals=800)
    for epoch in range(4):
        cases = itertools.product((epoch, epoch + 1), range(2), range(3))
        words = {signal_word(neighbours, *case) for case in cases}
        assert words == set(range(800, 800 + 8 * 12, 8))


def test_boundary_columns():
    field = initial_field(9, 5, "nvidia", "float64")
    assert field[:, 0].tolist() == [math.sin(2 * math.pi * iy / 8) for iy in range(9)]
    assert (field[:, 0] == field[:, -1]).all() and not field[:, 1:-1].any()
    ring = column(11, "periodic", "float64")
    assert ring[1] == 0 and abs(ring[0] - ring[-2]) < 1e-15 and abs(ring[-1] - ring[1]) < 1e-15


def test_small_numbers_are_no_zeros():
    assert [report.fixed(x, 4) for x in (12.5, 0.0, 4e-7)] == ["12.5000", "0.0000", "4.0000e-07"]
    assert report.norm_line(7, 3e-8) == "    7, 3.000000e-08"


def test_picture(tmp_path, monkeypatch):
    """The picture counts sweeps from 1, and leaves out norms that a logarithmic axis can't show."""
    pytest.importorskip("matplotlib")
    from matplotlib.figure import Figure

    from apps.jacobi import plot

    figures, savefig = [], Figure.savefig
    monkeypatch.setattr(Figure, "savefig", lambda *args, **kind: (figures.append(args[0]), savefig(*args, **kind)))
    for nx, ny in ((9, 7), (1500, 5)):
        rows, history = np.zeros((ny - 2, nx), "float32"), [(0, 1.0), (9, 1e-4), (10, 0.0)]
        plot.draw(tmp_path / "field.png", Problem(nx, ny), rows, history, "zeros")
        assert (tmp_path / "field.png").read_bytes()[:4] == b"\x89PNG"
    assert figures[0].axes[1].lines[0].get_xdata().tolist() == [1, 10]
    assert figures[0].axes[1].get_title() == "norm of the change of a sweep, 1.0e-04 at last"


def test_a_full_disk_leaves_the_older_file(team, tmp_path):  # the session's team comes first
    with pennympi.init(MPI.COMM_SELF, backend="host") as alone:
        path, solver = tmp_path / "a.h5", make_solver(alone, Problem(600, 300))
        solver.reset(np.random.default_rng(1).random((300, 600)))
        files = ["a.h5", "a.h5.xdmf"]
        assert storage.save(solver, Outcome(7), path) == "" and sorted(file.name for file in tmp_path.iterdir()) == files
        before = path.read_bytes()
        for most_bytes in (100, 2000, 100_000, len(before) - 2000):  # in HDF5's header, in the rows, after the rows
            with limited(resource.RLIMIT_FSIZE, most_bytes):
                error = storage.save(solver, Outcome(8), path)
            assert "file too large" in error and "\n" not in error
            assert path.read_bytes() == before and sorted(file.name for file in tmp_path.iterdir()) == files
        assert storage.save(solver, Outcome(8), tmp_path / "no" / "a.h5")
