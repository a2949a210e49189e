"""The checks of --verify: they pass a right result, and find a wrong bit, a missing sweep and a wrong norm."""

from dataclasses import replace

import numpy as np
import pytest
from mpi4py import MPI

from apps.jacobi import verify
from apps.jacobi.problem import Problem, column
from apps.jacobi.variants import make_solver
from apps.jacobi.verify import analytic, reference
from apps.jacobi.verify import serial as verify_serial
from apps.jacobi.verify.verdict import compare_norms

N_PES = MPI.COMM_WORLD.size


@pytest.mark.mpi
@pytest.mark.parametrize(("name", "by_numpy"), [("serial", True), ("serial", False), ("analytic", True)])
def test_checks_pass_and_fail(team, monkeypatch, name, by_numpy):
    if not by_numpy:
        monkeypatch.setattr(verify_serial, "REFERENCE_UPDATES", 0)
    problem = Problem(40, N_PES + 30, niter=30, nccheck=4, bc="periodic")
    check, solver = verify.TABLE[name], make_solver(team, problem)
    assert check.why_not(team, problem) == ""
    solver.reset()
    outcome = solver.run()
    good = check.judge(solver, outcome)
    assert good.passed, good.line
    iterations, norms = map(np.array, zip(*outcome.history, strict=True))
    norms[3] *= 1.001
    assert not check.judge(solver, replace(outcome, parts=[(iterations, norms)])).passed, "one wrong norm"
    solver.reset()
    solver.run(stop=29)
    bad = check.judge(solver, outcome)
    assert not bad.passed, f"a sweep is missing: {bad.line}"
    solver.free()


@pytest.mark.mpi
def test_one_wrong_bit_is_found(team):
    problem = Problem(20, N_PES + 20, niter=5, dtype="float64")
    solver = make_solver(team, problem)
    field = reference.solve(problem, 5)[0]
    field[3, 4] = np.nextafter(field[3, 4], 2)
    solver.reset()
    outcome = solver.run()
    solver.reset(field)
    verdict = verify_serial.judge(solver, outcome)
    assert not verdict.passed and verdict.line.startswith("1 points differ from plain loops"), verdict.line
    solver.free()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_reference_has_numpys_bits(dtype):
    u = np.random.default_rng(1).uniform(-1, 1, (45, 67)).astype(dtype)
    field, norms = reference.solve(Problem(67, 45, dtype=dtype), 30, u)
    for norm in norms:
        new = u.copy()
        new[1:-1, 1:-1] = u.dtype.type(0.25) * (((u[1:-1, 2:] + u[1:-1, :-2]) + u[2:, 1:-1]) + u[:-2, 1:-1])
        assert norm == pytest.approx(np.linalg.norm((new - u)[1:-1].astype("float64")), rel=1e-12)
        new[0], new[-1] = new[-2], new[1]
        u = new
    assert u.tobytes() == field.tobytes()


@pytest.mark.parametrize("shape", [(40, 66), (27, 21), (3, 21)])
def test_the_exact_field_of_the_periodic_boundary(shape):
    problem = Problem(*shape, dtype="float64", bc="periodic")
    wave = column(problem.ny, "periodic", "float64")[1:-1, None]
    for n in (0, 1, 37, 400):
        field, norms = reference.solve(problem, n)
        exact, known = analytic.along_x(problem, n)
        assert np.abs(field[1:-1] - wave * exact).max() <= analytic.tolerance(problem, n)
        np.testing.assert_allclose(known, norms, rtol=1e-10, atol=1e-14)


def test_long_waves_keep_their_digits():
    """A wave of 510 rows, whose cosine is near 1: with a rounded cosine, both formulas differ by 1e-13 from the field."""
    problem = Problem(256, 512, dtype="float64", bc="periodic")
    short = np.sin(np.arccos(np.longdouble(-1)) / 510) ** 2
    u = np.zeros(256, np.longdouble)
    u[[0, -1]] = 1
    for _ in range(5000):
        inner = u[1:-1]
        u[1:-1] = inner + ((u[2:] - inner) + (u[:-2] - inner)) / 4 - short * inner
    assert np.abs(analytic.along_x(problem, 5000)[0] - u).max() < 2e-14


def test_norms_are_compared_beyond_rounding():
    problem = Problem(20, 20)
    norms = reference.solve(problem, 5)[1]
    assert compare_norms(problem, list(enumerate(norms)), norms).passed and compare_norms(problem, [], norms).passed
    assert not compare_norms(problem, [(0, norms[0]), (1, norms[1] * 1.001)], norms).passed
    assert compare_norms(problem, [(0, 1e-6)], [0.0]).passed


def test_other_boundaries_have_no_formula():
    assert analytic.why_not(None, Problem(9, 9)).endswith("take --bc periodic")


def test_tolerances_tell_an_error_from_rounding():
    """The tolerances of the largest grids stay far below the error that one sweep too many would make."""
    for dtype, of_one in (("float32", 2e-3), ("float64", 1e-10)):
        assert analytic.tolerance(Problem(16384, 16384, dtype=dtype, bc="periodic"), 1000) < of_one
