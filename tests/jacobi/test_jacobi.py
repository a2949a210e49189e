"""The parts of the solver that need no team: decomposition, halo signals, boundary, norm, report."""

import itertools
import math
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from apps.jacobi.grid.boundary import column, initial_field
from apps.jacobi.grid.halo import Halo
from apps.jacobi.grid.problem import Problem
from apps.jacobi.grid.slab import max_rows, slabs
from apps.jacobi.norm.exact_sum import FRACTION_BITS, HALF_BITS, LIMB_BITS, LIMBS, WORDS, limb_unit
from apps.jacobi.norm.norm import norms_of
from apps.jacobi.norms_due import checked
from apps.jacobi.report import closing, report
from apps.jacobi.sweep.schedule import fit, norms
from apps.jacobi.timing import phases
from apps.jacobi.timing.serial import SerialTime
from apps.program.outcome import Outcome
from apps.program.progress import Progress

# Decomposition ------------------------------------------------------------------------


@pytest.mark.parametrize("n_pes", [1, 2, 3, 4, 5, 7, 8, 16])
@pytest.mark.parametrize("extra", [0, 1, 2, 5, 31, 1000])
def test_every_inner_row_has_one_owner(n_pes, extra):
    ny = n_pes + 2 + extra
    parts = slabs(ny, n_pes)
    owned = [row for part in parts for row in range(part.first, part.first + part.rows)]
    assert owned == list(range(1, ny - 1))
    heights = [part.rows for part in parts]
    assert heights == sorted(heights), "the first PEs have the low number of rows, as in NVIDIA's sample"
    assert max(heights) - min(heights) <= 1
    assert max_rows(parts) == max(heights)
    assert [part.top for part in parts] == [(pe - 1) % n_pes for pe in range(n_pes)]
    assert [part.bottom for part in parts] == [(pe + 1) % n_pes for pe in range(n_pes)]


def test_slabs_as_the_sample_deals_them():
    assert [part.rows for part in slabs(13, 4)] == [2, 3, 3, 3]
    assert [part.first for part in slabs(13, 4)] == [1, 3, 6, 9]


def test_fewer_rows_than_pes():
    with pytest.raises(ValueError, match="3 inner rows .* 4 PEs"):
        slabs(5, 4)


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
    halo = Halo(team, SimpleNamespace(slab=parts[1], parts=parts, depth=1, arrays=[field]), None)
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
    assert (outcome.reason, outcome.iterations) == ("converged", 4)
    assert outcome.add(4, math.nan, 0.5) and outcome.reason == "diverged"
    assert [outcome.status(True), Outcome(9).status(False), Outcome(9).status(True)] == [3, 0, 4]
    assert [Outcome(9, reason).status(True) for reason in ("converged", "interrupted")] == [0, 5]
    assert [k for k in range(250) if checked(k, 70, True)] == [0, 70, 100, 140, 200, 210]
    assert [k for k in range(250) if checked(k, 70, False)] == [0, 70, 140, 210]


# Lines and pictures --------------------------------------------------------------------


def test_picture(tmp_path):
    pytest.importorskip("matplotlib")
    from apps.jacobi.report.plot import Picture

    for nx, ny in ((9, 7), (1500, 5)):
        picture = Picture(Problem(nx, ny))
        for row in range(1, ny - 1):
            picture(row, np.zeros((1, nx), "float32"))
        picture.draw(tmp_path / "field.png", [(0, 1.0), (1, 0.0)], "zeros")
        assert (tmp_path / "field.png").read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"


def test_the_picture_has_no_line_that_nobody_reached(monkeypatch):
    pytest.importorskip("matplotlib")
    from apps.jacobi.report import plot

    figures = []
    monkeypatch.setattr(plot, "save_figure", lambda figure, path: figures.append(figure))
    picture = plot.Picture(Problem(9, 7))
    picture(1, np.zeros((5, 9), "float32"))
    for tol in (0.0, 1e-9, 1e-3):
        picture.draw("field.png", [(0, 1.0), (9, 1e-4)], "zeros", tol)
    words = [[text.get_text() for text in figure.axes[1].texts] for figure in figures]
    assert words == [["1.0e-04"], ["1.0e-04"], ["1.0e-04", "--tol 0.001"]]
    assert [len(figure.axes[1].lines) for figure in figures] == [2, 2, 3]
    assert figures[0].axes[1].lines[0].get_xdata().tolist() == [1, 10], "sweeps done, not numbers from 0"


def test_more_pes_than_cores():
    """Said where it is so: cores are those that a host's PEs may use together."""

    def said(backend, *every):
        comm = SimpleNamespace(allgather=lambda _: list(every))
        return closing.crowd(SimpleNamespace(backend=backend, comm=comm))

    two = {0, 1}
    assert said("host", ("a", two), ("a", two)) == said("host", ("a", {0}), ("a", {1})) == []
    assert said("host", ("a", two), ("a", two), ("b", two), ("b", two)) == []
    assert said("cuda", *[("a", {0})] * 8) == []
    (line,) = said("host", ("b", two), *[("a", two)] * 3)
    assert line.startswith("3 PEs share 2 cores: ") and line.endswith("start at most 2 to measure")
    assert said("host", *[("a", {7})] * 2)[0].startswith("2 PEs share 1 core: ")


def test_the_files_are_named():
    names = {"--output": Path("a/x.h5"), "--plot": Path("a/x.png")}
    (line,) = closing.files(names)
    assert [name for name in ("a/x.png (", "a/x.h5 (", "a/x.xdmf (") if name not in line] == []
    assert closing.files({}) == [] and "x.h5" not in closing.files({"--plot": names["--plot"]})[0]


def test_lines_of_the_sample(capsys, monkeypatch):
    problem = Problem(128, 64, niter=300, nccheck=10)
    spent = [{"compute": 8.0, "halo": 4.0, "exposed": 1.0, "norm": 0.5, "nothing": 0.5, "total": 10.0}]
    fastest = SerialTime("blocked", 1.0, 50, 300, [])
    timing = report.Timing(0.5, 300, SerialTime("single", 1.5, 50, 300, []), fastest, 1e10, 1e-5, spent)
    mesh = "64 x 128 mesh with norm check every 10 iterations"
    assert report.header(problem) == f"Jacobi relaxation: 300 iterations on {mesh}"
    assert report.single_header(problem, 50).startswith("Single GPU jacobi relaxation: 50 iterations on 64 x 128 mesh")
    assert report.nvidia_lines(problem, 4, timing) == [
        "Num GPUs: 4.",
        "64x128: 1 GPU:   1.5000 s, 4 GPUs:   0.5000 s, speedup:     3.00, efficiency:    75.00",
    ]
    assert report.csv_line(problem, 4, timing) == "pennympi, 128, 64, 300, 10, 4, 1, 0.500000, 1.500000"
    progress = Progress(problem.points, 300, 100)
    for iteration in range(201):
        progress(iteration, 1.25)
    assert capsys.readouterr().out == "    0, 1.250000\n  100, 1.250000\n  200, 1.250000\n"
    assert progress.line(100, 0.5, 2.0) == "100/300  norm 5.000e-01  50 it/s  0.00 GLUP/s  ETA 4 s"
    ticks = itertools.count()
    monkeypatch.setattr("time.monotonic", lambda: float(next(ticks)))
    slow = Progress(problem.points, 300)
    for iteration in range(10):
        slow(iteration, 0.5)
    lines = capsys.readouterr().err.splitlines()
    monkeypatch.undo()
    assert [line.split()[0] for line in lines] == ["3/300", "6/300", "9/300"], "every 3 s, though nothing is a terminal"
    after_a_restart = replace(timing, sweeps=100, runtime_s=1 / 6)
    assert report.speedup(4, after_a_restart, timing.serial) == (pytest.approx(3), pytest.approx(75))
    lines = report.our_lines(problem, 4, Outcome(300), timing)
    assert lines[2].startswith("One PE alone, single: 1.5000 s (from 50 sweeps); speedup 3.00, efficiency 75.0 %")
    assert lines[3].startswith("Our fastest on one PE, blocked: 1.0000 s") and "efficiency 50.0 %" in lines[3]
    assert len(report.our_lines(problem, 4, Outcome(300), replace(timing, fastest=timing.serial))) == len(lines) - 1
    assert "not timed" in "".join(report.full(problem, 2, Outcome(300), replace(timing, serial=None)))
    assert "75 % of the exchange hidden" in "".join(report.full(problem, 2, Outcome(300), timing))
    assert report.rates(problem, timing)["glups"] == pytest.approx(128 * 64 * 300 / 0.5e9)
    bandwidths = [report.rates(p, timing)["share_of_copy"] for p in (problem, replace(problem, method="chebyshev"))]
    assert bandwidths[1] == pytest.approx(1.5 * bandwidths[0]), "Chebyshev reads one field more"


def test_a_run_that_converges_early_is_compared_with_as_many_sweeps_of_one_pe():
    """50 sweeps were timed on one PE and scaled to --niter; the run stopped after a tenth of these."""
    problem, serial = Problem(128, 64, niter=1000), SerialTime("single", 2.0, 50, 1000, [])
    timing = report.Timing(0.1, 100, serial, replace(serial, variant="blocked", runtime_s=1.0), 1e10, 1e-5, [])
    line = report.nvidia_lines(problem, 2, timing)[1]
    assert line == "64x128: 1 GPU:   0.2000 s, 2 GPUs:   0.1000 s, speedup:     2.00, efficiency:   100.00"
    assert report.csv_line(problem, 2, timing).endswith(", 0.100000, 0.200000")
    timing.phases.append({"compute": 8.0, "halo": 4.0, "exposed": 1.0, "norm": 0.5, "nothing": 0.5, "total": 10.0})
    lines = report.our_lines(problem, 2, Outcome(100, "converged"), timing)
    assert lines[2] == "One PE alone, single: 0.2000 s (from 50 sweeps); speedup 2.00, efficiency 100.0 %"
    assert lines[3].startswith("Our fastest on one PE, blocked: 0.1000 s (from 50 sweeps); speedup 1.00")


def test_phases():
    busy = {"compute": [(0.0, 2.0), (3.0, 4.0), (1.0, 2.5)], "halo": [(2.0, 3.5)], "norm": [(4.0, 4.5)]}
    us = phases.Phases(2, 6.0, busy).per_sweep_us()
    assert us == pytest.approx(
        {"compute": 1.75e6, "halo": 0.75e6, "norm": 0.25e6, "exposed": 0.25e6, "nothing": 0.75e6, "total": 3e6}
    )
    assert phases.overlap_percent(us) == pytest.approx(100 * 2 / 3)
    assert phases.overlap_percent({**us, "halo": 0.0}) is None
    lines = phases.table([us, {name: 3 * value for name, value in us.items()}])
    assert len(lines) == 8 and lines[1].split()[1:] == ["3500000.0", "5250000.0", "58.3%"]
