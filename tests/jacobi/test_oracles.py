"""The answers that are known without a solve on the grid: norms, eigenmodes, steady state, Chebyshev's rate."""

import math
from itertools import product

import numpy as np
import pytest

from apps.jacobi.grid import spectrum
from apps.jacobi.grid.boundary import column
from apps.jacobi.grid.problem import Problem
from apps.jacobi.verify import oracles, reference
from apps.jacobi.verify.checks import analytic, eigenmode
from apps.jacobi.verify.checks.residual import norm_error
from apps.jacobi.verify.checks.serial import Comparison


@pytest.mark.parametrize("bc", ["nvidia", "periodic"])
@pytest.mark.parametrize("shape", [(40, 66), (33, 35), (3, 21)])
@pytest.mark.parametrize("method", spectrum.METHODS)
def test_residual_oracle_is_exact(bc, shape, method):
    problem = Problem(*shape, dtype="float64", bc=bc, method=method)
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
    mode = oracles.eigenmode(31, 22, p, q)
    for method, tolerance in (("jacobi", 1e-15), ("chebyshev", 1e-14)):
        for n in (1, 50):
            problem = Problem(31, 22, dtype="float64", method=method)
            field, _ = reference.solve(problem, n, mode)
            np.testing.assert_allclose(field, spectrum.decay(problem, n, p, q) * mode, atol=tolerance)


def test_steady_state_stays():
    steady = oracles.steady_state(30, 26)
    field, norms = reference.solve(Problem(30, 26, dtype="float64", bc="periodic"), 20, steady)
    np.testing.assert_allclose(field, steady, atol=1e-14)
    assert max(norms) < 1e-14


def test_converges_to_the_steady_state():
    problem = Problem(12, 14, dtype="float64", bc="periodic")
    field, _ = reference.solve(problem, 2000)
    np.testing.assert_allclose(field, oracles.steady_state(12, 14), atol=1e-14)


@pytest.mark.parametrize("method", spectrum.METHODS)
def test_the_exact_field_of_the_periodic_boundary(method):
    problem = Problem(27, 21, dtype="float64", bc="periodic", method=method)
    wave = column(21, "periodic", "float64")[1:-1, None]
    for n in (0, 1, 37, 400):
        field, _ = reference.solve(problem, n)
        error = np.abs(field[1:-1] - wave * oracles.shape_along_x(problem, n)).max()
        assert error <= analytic.tolerance(problem, n)
    assert np.abs(oracles.shape_along_x(problem, 4000) - oracles.steady_along_x(27, 21)).max() < 1e-14
    assert oracles.steady_along_x(60000, 12)[30000] == pytest.approx(0, abs=1e-300), "no overflow"


def test_long_waves_keep_their_digits():
    """A wave of 510 rows, whose cosine is near 1: a rounded cosine puts both formulas 1e-13 beside the field."""
    problem = Problem(512, 512, dtype="float64", bc="periodic", method="chebyshev")
    short = np.sin(np.arccos(np.longdouble(-1)) / 510) ** 2
    u, before = np.zeros((2, 512), np.longdouble)
    u[[0, -1]] = before[[0, -1]] = 1
    for k in range(5000):
        inner = u[1:-1]
        swept = inner + ((u[2:] - inner) + (u[:-2] - inner)) / 4 - short * inner
        before[1:-1] += spectrum.weight(problem, k) * (swept - before[1:-1])
        u, before = before, u
    assert np.abs(oracles.shape_along_x(problem, 5000) - u).max() < 2e-14
    assert np.abs(oracles.steady_along_x(512, 512) - u).max() < 2e-14


# Chebyshev ----------------------------------------------------------------------------


def spectrum_of(problem):
    """All factors of a sweep, from its matrix over the inner points."""
    width, ring = problem.nx - 2, problem.ny - 2
    matrix = np.zeros((ring, width, ring, width))
    for y, x in product(range(ring), range(width)):
        for at_y, at_x in ((y, x - 1), (y, x + 1), ((y - 1) % ring, x), ((y + 1) % ring, x)):
            if 0 <= at_x < width:
                matrix[y, x, at_y, at_x] += 0.25
    return np.linalg.eigvalsh(matrix.reshape(ring * width, ring * width))


@pytest.mark.parametrize("shape", [(3, 4), (7, 12), (12, 9), (4, 3)])
def test_spectral_bounds_in_closed_form(shape):
    problem = Problem(*shape)
    nx, ny = shape
    known = spectrum_of(problem)
    factors = [1.0 - spectrum.short_factor(problem, p, q) for p in range(1, nx - 1) for q in range(ny - 2)]
    np.testing.assert_allclose(np.sort(factors), known, atol=1e-14)
    assert 1.0 - spectrum.short_bound(problem) == pytest.approx(np.abs(known).max(), abs=1e-14)
    excited = [1.0 - spectrum.short_factor(problem, p, 1) for p in range(1, nx - 1)]
    assert 1.0 - spectrum.short_bound(Problem(*shape, bc="periodic")) == pytest.approx(np.abs(excited).max(), abs=1e-14)


def test_weights_are_those_of_the_recurrence():
    problem = Problem(40, 60, method="chebyshev")
    rho2, weight = (1.0 - spectrum.short_bound(problem)) ** 2, 2.0
    assert spectrum.weight(problem, 0) == 1.0
    for k in range(1, 500):
        weight = 1.0 / (1.0 - rho2 * weight / 4.0)
        assert spectrum.weight(problem, k) == pytest.approx(weight, rel=1e-13)
    assert spectrum.weight(Problem(40, 60), 7) == 1.0


@pytest.mark.parametrize("bc", ["nvidia", "periodic"])
def test_chebyshev_converges_at_its_rate(bc):
    problem = Problem(50, 50, dtype="float64", bc=bc, method="chebyshev")
    expected = spectrum.sweeps_to(1e-9, problem)
    _, norms = reference.solve(problem, int(1.3 * expected))
    reached = next(k for k, norm in enumerate(norms) if norm < 1e-9 * norms[0])
    assert 0.75 * expected < reached < 1.1 * expected
    assert spectrum.sweeps_to(1e-9, Problem(50, 50, bc=bc)) > 10 * expected, "and Jacobi is far away"


# What the checks find -----------------------------------------------------------------


def test_one_wrong_bit_and_one_wrong_norm_are_found():
    problem = Problem(20, 20)
    field, norms = reference.solve(problem, 5)
    check = Comparison(field)
    check(1, field[1:-1])
    assert check.differ == 0
    wrong = field[1:-1].copy()
    wrong[3, 4] = np.nextafter(wrong[3, 4], np.float32(2))
    check(1, wrong)
    assert check.differ == 1 and 0 < check.worst < 1e-6
    assert norm_error(problem, list(enumerate(norms)))[1]
    assert not norm_error(problem, [(0, norms[0]), (1, norms[1] * 1.001)])[1]


def test_tolerances_tell_an_error_from_rounding():
    """The tolerances of the largest grids stay far below the error that one sweep too many would make."""
    for method in spectrum.METHODS:
        for dtype, of_one in (("float32", 2e-3), ("float64", 1e-10)):
            problem = Problem(16384, 16384, dtype=dtype, method=method, bc="periodic")
            assert eigenmode.tolerance(problem, 1000) < of_one and analytic.tolerance(problem, 1000) < of_one
