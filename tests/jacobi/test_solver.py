"""The solver on the PEs of this job: the bits of NumPy, and those of one PE alone."""

import itertools
import math

import numpy as np
import pytest
from mpi4py import MPI
from reductions import some

import pennympi
from apps.jacobi.grid import spectrum
from apps.jacobi.grid.problem import Problem
from apps.jacobi.grid.slab import slabs
from apps.jacobi.solver import Solver
from apps.jacobi.storage.gather import gather
from apps.jacobi.timing import measure
from apps.jacobi.timing.serial import Serial
from apps.jacobi.verify import oracles, reference

N_PES = MPI.COMM_WORLD.size

# (nx, ny): the smallest of both, one row a PE, uneven rows, primes, and widths that are multiples of 256 and are not
SHAPES = [(3, N_PES + 2), (5, N_PES + 3), (17, 2 * N_PES + 3), (61, 67), (256, 40), (1031, 29)]

# In this order, every second case covers every shape and every last sweep.
KINDS = [(i, ("float32", "float64")[(i + k) % 2]) for i, k in itertools.product(range(len(SHAPES)), range(2))]
STOPS = [((1, 3)[(i + k) % 2], last) for (i, last), k in itertools.product(enumerate((0, 6, 9, 11)), range(2))]
HALF = 1 if N_PES <= 4 else 2  # every second case on many PEs; other numbers of PEs run the rest

pytestmark = pytest.mark.mpi


@pytest.fixture(scope="module")
def team():
    with pennympi.init() as team:
        yield team


def solve(team, problem, initial=None):
    """A solver after its run, and the outcome."""
    solver = Solver(team, problem)
    solver.reset(initial)
    return solver, solver.run()


def own_rows(solver):
    return solver.rows(0, solver.slab.rows)


def assert_same_bits(solver, expected):
    first, rows = solver.slab.first, solver.slab.rows
    assert own_rows(solver).tobytes() == expected[first : first + rows].tobytes()


@pytest.mark.parametrize(("dtype", "nx", "ny"), [(dtype, *SHAPES[i]) for i, dtype in some(KINDS, HALF)])
def test_field_and_norms(team, dtype, nx, ny):
    problem = Problem(nx, ny, niter=25, dtype=dtype, tol=-1)  # the smallest grids would converge at once
    solver, outcome = solve(team, problem)
    expected, norms = reference.solve(problem, 25)
    assert_same_bits(solver, expected)
    assert (outcome.reason, outcome.iterations) == ("iterations", 25)
    np.testing.assert_allclose([norm for _, norm in outcome.history], norms, rtol=1e-7, atol=1e-15)
    alone, _, field = Serial(team, problem).run(25)
    assert alone.history == outcome.history, "the norm has the same bits for any number of PEs"
    assert field.tobytes() == expected.tobytes()
    solver.free()


def test_any_field_to_start_from(team):
    problem = Problem(40, 47, niter=12, nccheck=4)
    initial = np.random.default_rng(7).standard_normal((47, 40)).astype("float32")
    initial[0], initial[-1] = initial[-2], initial[1]
    solver, outcome = solve(team, problem, initial)
    expected, norms = reference.solve(problem, 12, initial)
    assert_same_bits(solver, expected)
    assert [iteration for iteration, _ in outcome.history] == [0, 4, 8]
    assert Serial(team, problem).run(12, initial=initial)[0].history == outcome.history
    solver.free()


def test_eigenmode(team):
    problem = Problem(37, 41, niter=100, dtype="float64", nccheck=1000)
    mode, factor = oracles.eigenmode(37, 41, 2, 3), 1 - spectrum.short_factor(problem, 2, 3)
    solver, _ = solve(team, problem, mode)
    first, rows = solver.slab.first, solver.slab.rows
    np.testing.assert_allclose(own_rows(solver), factor**100 * mode[first : first + rows], atol=2e-16)
    solver.free()


@pytest.mark.parametrize("bc", ["nvidia", "periodic"])
def test_residual_oracle(team, bc):
    problem = Problem(200, 220, niter=60, bc=bc)
    solver, outcome = solve(team, problem)
    expected = oracles.residuals(problem, 60)
    np.testing.assert_allclose([norm for _, norm in outcome.history], expected, rtol=1e-5)
    solver.free()


@pytest.mark.parametrize(("nccheck", "last"), some(STOPS, HALF))
def test_stops_at_the_right_sweep(team, nccheck, last):
    """The norm is read one sweep late, and that sweep must leave no trace, not even in a second run."""
    problem = Problem(33, 40, niter=12)
    _, norms = reference.solve(problem, 12)
    problem = Problem(33, 40, niter=12, tol=norms[last] * 1.0001, nccheck=nccheck)
    at = -(-last // nccheck) * nccheck
    solver = Solver(team, problem)
    for _ in range(2):
        solver.reset()
        outcome = solver.run()
        expected = min(at + 1, 12)
        assert (outcome.reason, outcome.iterations) == ("converged" if at < 12 else "iterations", expected)
        assert_same_bits(solver, reference.solve(problem, expected)[0])
        np.testing.assert_allclose([norm for _, norm in outcome.history], norms[: at + 1 : nccheck], rtol=1e-7)
    solver.free()


@pytest.mark.parametrize("value", [math.nan, math.inf, 1e30])
def test_divergence_is_noticed(team, value):
    problem = Problem(20, N_PES + 20, niter=50)
    initial = np.zeros((problem.ny, problem.nx), "float32")
    initial[problem.ny // 2, 7] = value
    solver, outcome = solve(team, problem, initial)
    assert (outcome.reason, outcome.iterations) == ("diverged", 1)
    assert math.isnan(outcome.history[-1][1])
    solver.free()


def test_exchange_and_copy_leave_the_result(team):
    problem = Problem(64, 50, niter=7)
    solver, _ = solve(team, problem)
    assert measure.exchange_seconds(solver) > 0
    assert measure.copy_bandwidth(solver) > 0
    assert_same_bits(solver, reference.solve(problem, 7)[0])
    solver.free()


def test_gather_hands_over_all_rows_in_order(team, monkeypatch):
    monkeypatch.setattr("apps.jacobi.storage.gather.CHUNK_BYTES", 3 * 30 * 4)  # three rows at a time
    problem = Problem(30, 45, niter=5)
    solver, _ = solve(team, problem)
    got = []
    gather(solver, [lambda first, rows: got.append((first, rows.copy()))])
    if team.me == 0:
        assert [first for first, _ in got][0] == 1 and all(len(rows) <= 3 for _, rows in got)
        expected, _ = reference.solve(problem, 5)
        assert np.concatenate([rows for _, rows in got]).tobytes() == expected[1:-1].tobytes()
        assert sorted(first for first, _ in got) == [first for first, _ in got]
    else:
        assert not got
    solver.free()


def test_tiny_changes_count(team):
    problem = Problem(300, N_PES + 8, niter=1)
    mode, factor = oracles.eigenmode(300, problem.ny, 1, 1), 1 - spectrum.short_factor(problem, 1, 1)
    solver, outcome = solve(team, problem, 1e-18 * mode)
    expected = 1e-18 * (1 - factor) * np.linalg.norm(mode[1:-1])
    assert outcome.history[0][1] == pytest.approx(expected, rel=1e-3)
    solver.free()


def test_slab_heights(team):
    solver = Solver(team, Problem(8, 3 * N_PES + 1))
    assert solver.slab == slabs(3 * N_PES + 1, N_PES)[team.me]
    solver.free()
