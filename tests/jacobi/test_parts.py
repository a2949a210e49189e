"""The parts of the solver that need no team: decomposition, halo signals, boundary, norm, printed lines, files."""

import math
import resource
from contextlib import contextmanager
from types import SimpleNamespace

import h5py
import numpy as np
import pytest
from mpi4py import MPI

from apps.jacobi import report, storage
from apps.jacobi.grid.boundary import column, initial_field
from apps.jacobi.grid.halo import Halo
from apps.jacobi.grid.problem import Problem
from apps.jacobi.grid.slab import slabs
from apps.jacobi.norm.exact_sum import FRACTION_BITS, HALF_BITS, LIMB_BITS, LIMBS, WORDS, limb_unit
from apps.jacobi.norm.norm import norms_of
from apps.jacobi.sweep.schedule import checked, fit, norms
from apps.program.outcome import Outcome
from apps.program.whole_files import part_name

# Decomposition ------------------------------------------------------------------------


@pytest.mark.parametrize("n_pes", [1, 2, 3, 4, 5, 7, 8, 16])
def test_every_inner_row_has_one_owner(n_pes):
    for extra in (0, 1, 2, 5, 31, 1000):
        parts = slabs(n_pes + 2 + extra, n_pes)
        owned = [row for part in parts for row in range(part.first, part.first + part.rows)]
        assert owned == list(range(1, n_pes + 1 + extra))
        heights = [part.rows for part in parts]
        assert heights == sorted(heights), "the first PEs have the low number of rows, as in NVIDIA's sample"
        assert max(heights) - min(heights) <= 1
        beside = [((pe - 1) % n_pes, (pe + 1) % n_pes) for pe in range(n_pes)]
        assert [(part.top, part.bottom) for part in parts] == beside
    with pytest.raises(ValueError, match=f"{n_pes - 1} inner rows .* {n_pes} PEs"):
        slabs(n_pes + 1, n_pes)


# The halo exchange ----------------------------------------------------------------------


class RecordingTeam:
    """A team with what ``Halo`` uses.  It records (word, value, PE) of each signal and each wait."""

    def signals(self, n):
        self.words, self.signalled, self.awaited = np.arange(n), [], []
        return self.words

    def put_signal(self, dst, src, signal, value, pe, stream):
        self.signalled.append((int(signal[0]), value, pe))

    def wait_signal(self, signal, value, source, stream):
        self.awaited.append((int(signal[0]), value, source))


def test_exchanges_under_way_share_no_word():
    """The signals of exchanges k and k+1 may be under way together, and a network may deliver them in either order."""
    team, parts, field = RecordingTeam(), slabs(11, 3), np.zeros((5, 4))
    halo = Halo(team, SimpleNamespace(slab=parts[1], parts=parts, arrays=[field]), None)
    for _ in range(4):
        halo.send(field)
        halo.receive()
    for k in range(4):
        (up, *upward), (down, *downward) = team.signalled[2 * k : 2 * k + 2]
        assert (upward, downward) == ([k + 1, parts[1].top], [k + 1, parts[1].bottom])
        assert team.awaited[2 * k : 2 * k + 2] == [(down, k + 1, parts[1].top), (up, k + 1, parts[1].bottom)]
        assert len({word for word, *_ in team.signalled[2 * k : 2 * k + 4]}) == len(team.signalled[2 * k : 2 * k + 4])


# Boundary -----------------------------------------------------------------------------


def test_boundary_columns():
    field = initial_field(9, 5, "nvidia", "float64")
    assert field[:, 0].tolist() == [math.sin(2 * math.pi * iy / 8) for iy in range(9)]
    assert (field[:, 0] == field[:, -1]).all() and not field[:, 1:-1].any()
    ring = column(11, "periodic", "float64")
    assert ring[1] == 0 and abs(ring[0] - ring[-2]) < 1e-15 and abs(ring[-1] - ring[1]) < 1e-15


# Norm and stopping --------------------------------------------------------------------


def words(value):
    """What a kernel adds to the words for one segment: (1, 1, WORDS)."""
    sums = [0] * WORDS
    for k in range(LIMBS):
        sums[k], sums[LIMBS + k] = divmod(int(value / limb_unit(k)) % (1 << LIMB_BITS), 1 << HALF_BITS)
    return np.array([[sums]])


@pytest.mark.parametrize("value", [0.0, 1.0, 3.3, 1e-32, 7.7e11, 0.1 + 2.0**-50, 2.0**-FRACTION_BITS])
def test_limbs_hold_a_sum(value):
    assert norms_of(words(0.0), words(value)) == pytest.approx([math.sqrt(value)], rel=1e-5)


def test_norm_survives_wrapped_words_and_sees_bad_segments():
    before = np.array([[[2**63 - 5] + [-(2**63)] * (WORDS - 1)]])
    with np.errstate(over="ignore"):
        after = before + words(12345.678)
    assert norms_of(before, after) == [math.sqrt(12345.678)]
    assert math.isnan(norms_of(words(0.0), np.array([[[1] * WORDS]]))[0])


def test_passes_end_where_a_norm_is_due():
    def passes(nccheck, sweeps, sizes=(8, 6, 4, 2, 1)):
        due, done, found = [k % nccheck == 0 for k in range(sweeps)], 0, []
        while done < sweeps:
            ahead = due[done : done + sizes[0]]
            count = fit(ahead, sizes)
            found.append((count, norms(ahead[:count])))
            done += count
        return found

    none = (8, "none")
    assert passes(100, 101) == [(1, "last"), *[none] * 12, (4, "last")]
    assert passes(1, 20) == [(8, "all"), (8, "all"), (4, "all")]
    assert passes(8, 17) == [(1, "last"), (8, "last"), (8, "last")]
    assert passes(3, 10) == [(8, "all"), (2, "last")]
    assert passes(7, 9, (4, 2, 1)) == [(1, "last"), (4, "none"), (2, "none"), (1, "last"), (1, "none")]


def test_outcome():
    outcome = Outcome(10)
    assert not outcome.add(0, 1.0, 0.5) and outcome.add(3, 0.5, 0.5)
    assert (outcome.reason, outcome.iterations, outcome.status()) == ("converged", 4, 0)
    assert outcome.add(4, math.nan, 0.5) and outcome.reason == "diverged"
    assert [outcome.status(), Outcome(9).status()] == [3, 0]
    assert [k for k in range(250) if checked(k, 70, True)] == [0, 70, 100, 140, 200, 210]
    assert [k for k in range(250) if checked(k, 70, False)] == [0, 70, 140, 210]
    assert [k for k in range(500) if checked(k, 120, True)] == [0, 120, 240, 360, 480]


# Lines, pictures and files -------------------------------------------------------------


def test_picture(tmp_path, monkeypatch):
    """It has no line that nobody reached, and counts sweeps from 1."""
    pytest.importorskip("matplotlib")
    from apps.jacobi import plot

    figures, save_figure = [], plot.save_figure
    monkeypatch.setattr(plot, "save_figure", lambda *drawn: (figures.append(drawn[0]), save_figure(*drawn)))
    for nx, ny, tol in ((9, 7, 1e-9), (1500, 5, 1e-3)):
        picture = plot.Picture(Problem(nx, ny, tol=tol))
        for row in range(1, ny - 1):
            picture.take(row, np.zeros((1, nx), "float32"))
        picture.draw(tmp_path / "field.png", [(0, 1.0), (9, 1e-4), (10, 0.0)], "zeros")
        assert (tmp_path / "field.png").read_bytes()[:4] == b"\x89PNG"
    words = [[text.get_text() for text in figure.axes[1].texts] for figure in figures]
    assert words == [["1.0e-04"], ["1.0e-04", "--tol 0.001"]]
    assert figures[0].axes[1].lines[0].get_xdata().tolist() == [1, 10]


def test_lines_of_the_sample():
    problem, mesh = Problem(128, 64, niter=300, nccheck=10), "64 x 128 mesh with norm check every 10 iterations"
    assert report.header(problem, 300) == f"Jacobi relaxation: 300 iterations on {mesh}"
    assert report.header(problem, 50, "Single GPU jacobi") == f"Single GPU jacobi relaxation: 50 iterations on {mesh}"
    assert report.nvidia_lines(problem, 4, 0.5, 1.5) == [
        "Num GPUs: 4.",
        "64x128: 1 GPU:   1.5000 s, 4 GPUs:   0.5000 s, speedup:     3.00, efficiency:    75.00",
    ]
    assert report.csv_line(problem, 4, 0.5, 1.5) == "pennympi, 128, 64, 300, 10, 4, 1, 0.500000, 1.500000"
    assert report.norm_line(100, 1.25) == "  100, 1.250000"
    ended = report.ending(problem, Outcome(300, history=[(290, 0.5)]), 0.5, 300)
    assert ended.endswith(", norm 5.000000e-01; 1666.7 us an iteration, 0.005 GLUP/s")


@contextmanager
def disk_of(most_bytes):
    """Files can't grow larger, as if the disk were full."""
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (most_bytes, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)


class Whole:
    """A solver of one PE, of which the files take what they need."""

    def __init__(self, problem):
        self.problem, self.team = problem, SimpleNamespace(comm=MPI.COMM_SELF)
        self._rows = np.random.default_rng(1).random((problem.ny - 2, problem.nx)).astype(problem.dtype)

    def rows(self, start, stop):
        return self._rows[start:stop]


def test_a_full_disk_leaves_the_file_before(tmp_path):
    path, solver = tmp_path / "a.h5", Whole(Problem(600, 300))
    assert storage.save(solver, Outcome(7), path) == "" and [one.name for one in tmp_path.iterdir()] == ["a.h5"]
    before = path.read_bytes()
    for most_bytes in (100, 2000, 100_000, len(before) - 2000):  # in HDF5's first records, in the rows, behind them
        with disk_of(most_bytes):
            error = storage.save(solver, Outcome(8), path)
        assert "file too large" in error and "\n" not in error
        assert path.read_bytes() == before and not part_name(path).exists()
    assert storage.save(solver, Outcome(8), tmp_path / "no" / "a.h5")


def test_what_was_written_is_read(tmp_path):
    path, problem = tmp_path / "a.h5", Problem(6, 5, niter=90, tol=0.25, nccheck=3, dtype="float64", bc="periodic")
    solver, outcome = Whole(problem), Outcome(7, "converged", [(0, 2.0), (6, 0.1 + 0.2)])
    assert storage.save(solver, outcome, path) == ""
    found, read = storage.read(MPI.COMM_SELF, path)
    assert found == problem and type(found.nx) is int and type(found.tol) is float
    assert read == Outcome(7, "iterations", outcome.history)
    with h5py.File(path) as file:
        field, rows = file["field"][:], storage.Rows(file["field"])
        assert field[1:-1].tobytes() == solver.rows(0, 3).tobytes()
        assert (field[0] == field[-2]).all() and (field[-1] == field[1]).all()
        for wanted in ([3, 1, 2, 3, 1], [2], [1, 2, 3]):
            assert (rows[np.array(wanted)] == field[wanted]).all()
