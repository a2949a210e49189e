"""The solver's parts that need no team: who owns what, the known answers, files, lines."""

import math

import h5py
import numpy as np
import pytest

from apps.jacobi import cli, oracles, reference, report
from apps.jacobi.boundary import column, initial_field
from apps.jacobi.files import FieldFile, part_name, why_unwritable, write_text
from apps.jacobi.norm import norm_of
from apps.jacobi.outcome import Outcome, checked
from apps.jacobi.problem import Problem
from apps.jacobi.progress import Progress
from apps.jacobi.serial import SerialTime
from apps.jacobi.slab import most_rows, slabs
from apps.jacobi.verify import FieldCheck, norm_error, verdict


class OnePE:
    """As much of a communicator as the command line needs."""

    rank, size = 0, 1

    def bcast(self, x):
        return x


class FivePEs(OnePE):
    size = 5


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
    assert most_rows(parts) == max(heights)
    assert [part.top for part in parts] == [(pe - 1) % n_pes for pe in range(n_pes)]
    assert [part.bottom for part in parts] == [(pe + 1) % n_pes for pe in range(n_pes)]


def test_slabs_as_the_sample_deals_them():
    assert [part.rows for part in slabs(13, 4)] == [2, 3, 3, 3]
    assert [part.first for part in slabs(13, 4)] == [1, 3, 6, 9]


def test_fewer_rows_than_pes():
    with pytest.raises(ValueError, match="3 inner rows .* 4 PEs"):
        slabs(5, 4)


# Boundary and oracles -----------------------------------------------------------------


def test_boundary_columns():
    field = initial_field(9, 5, "nvidia", "float64")
    assert field[:, 0].tolist() == [math.sin(2 * math.pi * iy / 8) for iy in range(9)]
    assert (field[:, 0] == field[:, -1]).all() and not field[:, 1:-1].any()
    ring = column(11, "periodic", "float64")
    assert ring[1] == 0 and abs(ring[0] - ring[-2]) < 1e-15 and abs(ring[-1] - ring[1]) < 1e-15


@pytest.mark.parametrize("bc", ["nvidia", "periodic"])
@pytest.mark.parametrize("shape", [(40, 66), (33, 35), (3, 21)])
def test_residual_oracle_is_exact(bc, shape):
    problem = Problem(*shape, dtype="float64", bc=bc)
    _, norms = reference.solve(problem, 60)
    np.testing.assert_allclose(oracles.residuals(problem, 60, 0.0), norms, rtol=1e-10, atol=1e-14)


def test_residual_oracle_of_float32():
    problem = Problem(256, 256)
    _, norms = reference.solve(problem, 100)
    np.testing.assert_allclose(oracles.residuals(problem, 100), norms, rtol=1e-5)


def test_one_mode_oracle():
    at = [0, 100, 200]
    known = oracles.residuals_one_mode(8192, 8192, 201)[at]
    np.testing.assert_allclose(known, [22.626036, 0.634943, 0.378766], rtol=2e-6)
    for ny in (34, 1024):
        assert oracles.residuals_one_mode(100, ny, 1)[0] == pytest.approx(math.sqrt((ny - 1) / 16), rel=1e-14)
    general = oracles.residuals(Problem(1024, 1024), 100)
    np.testing.assert_allclose(oracles.residuals_one_mode(1024, 1024, 100), general, rtol=1e-5)


@pytest.mark.parametrize("p,q", [(1, 1), (2, 3), (5, 0)])
def test_eigenmode_is_one(p, q):
    mode, factor = oracles.eigenmode(31, 22, p, q)
    field, _ = reference.solve(Problem(31, 22, dtype="float64"), 50, mode)
    np.testing.assert_allclose(field, factor**50 * mode, atol=1e-15)


def test_steady_state_stays():
    steady = oracles.steady_state(30, 26)
    field, norms = reference.solve(Problem(30, 26, dtype="float64", bc="periodic"), 20, steady)
    np.testing.assert_allclose(field, steady, atol=1e-14)
    assert max(norms) < 1e-14


def test_converges_to_the_steady_state():
    problem = Problem(12, 14, dtype="float64", bc="periodic")
    field, _ = reference.solve(problem, 2000)
    np.testing.assert_allclose(field, oracles.steady_state(12, 14), atol=1e-14)


# Norm and stopping --------------------------------------------------------------------


def limbs(value):
    """What the kernel deposits for one row."""
    words = [0] * 8
    for k in range(4):
        words[k] = int(value)
        value = (value - words[k]) * 2.0**44
    return words


@pytest.mark.parametrize("value", [0.0, 1.0, 3.3, 1e-32, 7.7e12, 0.1 + 2.0**-50, 2.0**-132])
def test_limbs_hold_a_sum(value):
    assert norm_of([0] * 8, limbs(value)) == pytest.approx(math.sqrt(value), rel=1e-8)


def test_norm_survives_wrapped_words_and_sees_bad_rows():
    before = [2**63 - 5] + [-(2**63)] * 3 + [0] * 4
    after = [(a + b + 2**63) % 2**64 - 2**63 for a, b in zip(before, limbs(12345.678), strict=True)]
    assert norm_of(before, after) == math.sqrt(12345.678)
    assert math.isnan(norm_of([0] * 8, [1, 1, 1, 1, 1, 0, 0, 0]))


def test_outcome():
    outcome = Outcome(10)
    assert not outcome.add(0, 1.0, 0.5) and outcome.add(3, 0.5, 0.5)
    assert (outcome.reason, outcome.iterations) == ("converged", 4)
    assert outcome.add(4, math.nan, 0.5) and outcome.reason == "diverged"
    assert [k for k in range(250) if checked(k, 70, True)] == [0, 70, 100, 140, 200, 210]
    assert [k for k in range(250) if checked(k, 70, False)] == [0, 70, 140, 210]


# Verification, files, lines -----------------------------------------------------------


def test_verdict_finds_one_wrong_bit_and_one_wrong_norm():
    problem = Problem(20, 20)
    field, norms = reference.solve(problem, 5)
    history = list(enumerate(norms))
    check = FieldCheck(problem, 5)
    check(1, field[1:-1])
    passed, numbers, lines = verdict(problem, Outcome(5, history=history), check)
    assert passed and numbers["points_that_differ"] == 0 and lines[0].startswith("PASS")
    wrong = field[1:-1].copy()
    wrong[3, 4] = np.nextafter(wrong[3, 4], np.float32(2))
    check(1, wrong)
    passed, numbers, lines = verdict(problem, Outcome(5, history=history), check)
    assert not passed and numbers["points_that_differ"] == 1 and lines[0].startswith("FAIL")
    assert not norm_error(problem, [(0, norms[0]), (1, norms[1] * 1.001)])[1]


def test_file_is_whole_or_absent(tmp_path):
    problem, path = Problem(6, 5), tmp_path / "field.h5"
    rows = np.arange(18, dtype="float32").reshape(3, 6)
    file = FieldFile(path, problem)
    file(1, rows)
    assert not path.exists()
    file.finish({"iterations": 7, "reason": "converged"}, [(0, 2.0), (6, 0.5)])
    assert [one.name for one in tmp_path.iterdir()] == ["field.h5"]
    with h5py.File(path) as h5:
        field = h5["field"][:]
        assert field.dtype == np.float32 and (field[1:-1] == rows).all()
        assert (field[0] == rows[-1]).all() and (field[-1] == rows[0]).all()
        assert h5["residual/iteration"][:].tolist() == [0, 6] and h5["residual/norm"][:].tolist() == [2.0, 0.5]
        assert h5.attrs["iterations"] == 7 and h5.attrs["reason"] == "converged"
    before = path.read_bytes()
    file = FieldFile(path, problem)
    file.discard()
    assert path.read_bytes() == before and not part_name(path).exists()


def test_paths_are_tried_first(tmp_path):
    assert why_unwritable(tmp_path / "a.json") == "" and not list(tmp_path.iterdir())
    assert "no such file" in why_unwritable(tmp_path / "no" / "a.json")
    assert "folder" in why_unwritable(tmp_path)
    write_text(tmp_path / "a.json", "{}\n")
    assert (tmp_path / "a.json").read_text() == "{}\n"


def test_picture(tmp_path):
    pytest.importorskip("matplotlib")
    from apps.jacobi.plot import Picture

    for nx, ny in ((9, 7), (1500, 5)):
        picture = Picture(Problem(nx, ny))
        for row in range(1, ny - 1):
            picture(row, np.zeros((1, nx), "float32"))
        picture.draw(tmp_path / "field.png", [(0, 1.0), (1, 0.0)], "zeros")
        assert (tmp_path / "field.png").read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"


def test_lines_of_the_sample(capsys):
    problem = Problem(128, 64, niter=300, nccheck=10)
    timing = report.Timing(0.5, SerialTime(1.5, 50, 300, []), 1e10, 1e-5)
    mesh = "64 x 128 mesh with norm check every 10 iterations"
    assert report.header(problem) == f"Jacobi relaxation: 300 iterations on {mesh}"
    assert report.single_header(problem, 50).startswith("Single GPU jacobi relaxation: 50 iterations on 64 x 128 mesh")
    assert report.nvidia_lines(problem, 4, timing) == [
        "Num GPUs: 4.",
        "64x128: 1 GPU:   1.5000 s, 4 GPUs:   0.5000 s, speedup:     3.00, efficiency:    75.00",
    ]
    assert report.csv_line(problem, 4, timing) == "pennympi, 128, 64, 300, 10, 4, 1, 0.500000, 1.500000"
    progress = Progress(problem, 300)
    for iteration in range(201):
        progress(iteration, 1.25)
    assert capsys.readouterr().out == "    0, 1.250000\n  100, 1.250000\n  200, 1.250000\n"
    assert progress.line(100, 0.5, 2.0) == "100/300  norm 5.000e-01  50 it/s  0.00 GLUP/s  ETA 4 s"
    assert "not timed" in "".join(report.full(problem, 2, Outcome(300), report.Timing(0.5, None, 1e10, 1e-5)))


BAD = {
    "--nx 2": "--nx",
    "--ny 2": "--ny",
    "--nx 1.5": "--nx",
    "--niter 0": "--niter",
    "--nccheck 0": "--nccheck",
    "--tol -1": "--tol",
    "--tol nan": "--tol",
    "--dtype float16": "--dtype",
    "--bc open": "--bc",
    "--backend tpu": "--backend",
    "--fast": "--fast",
    "--ny 6": "4 inner rows",
    "--output /nowhere/x.h5": "--output /nowhere/x.h5 cannot be written",
    "--json /": "--json / cannot be written",
}


@pytest.mark.parametrize("line", BAD)
def test_bad_arguments_are_one_line(line, capsys):
    with pytest.raises(SystemExit) as stop:
        cli.parse(FivePEs(), line.split())
    assert stop.value.code == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1 and BAD[line] in error


def test_good_arguments(capsys):
    options, problem = cli.parse(OnePE(), "--nx 64 --ny 32 --dtype float64 --bc periodic --csv --verify".split())
    assert problem == Problem(64, 32, 1000, 1e-8, 1, "float64", "periodic") and options.csv and options.verify
    with pytest.raises(SystemExit) as stop:
        cli.parse(OnePE(), ["--help"])
    assert stop.value.code == 0 and "--nccheck" in capsys.readouterr().out
