"""The solver on the PEs of this job, by every variant: the bits of NumPy's field, and the norms of one PE."""

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from mpi4py import MPI
from reductions import sample

from apps.jacobi import problem as problems
from apps.jacobi import serial
from apps.jacobi.plot import sampled
from apps.jacobi.problem import Problem
from apps.jacobi.variants import DEFAULT, TABLE, make_solver
from apps.jacobi.verify import reference

N_PES = MPI.COMM_WORLD.size
# (nx, ny): the smallest nx and ny; fewer rows than sweeps of a pass, and twice as many; odd numbers; more than one tile
SHAPES = [(3, N_PES + 2), (17, 2 * N_PES + 3), (61, 67), (243, 5 * N_PES + 9), (485, 17 * N_PES + 2), (1031, 29)]
DEFAULTS = [(i, ("float32", "float64")[(i + k) % 2]) for i, k in itertools.product(range(len(SHAPES)), range(2))]
HALF = 1 if N_PES <= 4 else 2  # every second case on many PEs; other numbers of PEs run the rest
SWEEPS = 21

pytestmark = pytest.mark.mpi


def solver_of(team, problem, variant):
    """A solver.  Skips the test if the variant cannot run."""
    try:
        return make_solver(team, problem, variant)
    except ValueError as error:
        assert str(error).startswith(f"--variant {variant} cannot run here: ")
        pytest.skip(str(error))


def random_field(problem, seed):
    """A field whose rows form a ring."""
    field = np.random.default_rng(seed).standard_normal((problem.ny, problem.nx)).astype(problem.dtype)
    field[0], field[-1] = field[-2], field[1]
    return field


def assert_same_bits(solver, expected):
    first, rows = 1 + solver.fields.first, solver.fields.rows
    assert solver.fields.own().tobytes() == expected[first : first + rows].tobytes()


def rows_of(ny, pe):
    """(index of the first row in the ring, number of rows) of a PE; the first PEs have the rows that are left over."""
    few, more = divmod(ny - 2, N_PES)
    return pe * few + min(pe, more), few + (pe < more)


def alone(team, problem, initial=None):
    """(outcome, field) of a solve on one PE."""
    solved = serial.solve(team, problem, initial=initial)
    return solved.outcome, solved.field


@pytest.mark.parametrize("variant", TABLE)
def test_every_variant(team, variant):
    """Each variant and number of PEs tests one shape, dtype and nccheck, in turn."""
    turn = list(TABLE).index(variant) + N_PES
    nx, ny = SHAPES[turn % len(SHAPES)]
    dtype, nccheck = ("float32", "float64")[turn // 2 % 2], (1, 5, 3)[turn % 3]
    problem = Problem(nx, ny, niter=SWEEPS, tol=-1, nccheck=nccheck, dtype=dtype)
    initial = random_field(problem, turn)
    solver = solver_of(team, problem, variant)
    solver.reset(initial)
    outcome = solver.run()
    expected, norms = reference.solve(problem, SWEEPS, initial)
    assert_same_bits(solver, expected)
    assert (outcome.reason, outcome.iterations) == ("iterations", SWEEPS)
    assert [iteration for iteration, _ in outcome.history] == list(range(0, SWEEPS, nccheck))
    np.testing.assert_allclose([norm for _, norm in outcome.history], norms[::nccheck], rtol=1e-6, atol=1e-15)
    assert alone(team, problem, initial)[0].history == outcome.history
    solver.free()


@pytest.mark.parametrize(("dtype", "nx", "ny"), [(dtype, *SHAPES[i]) for i, dtype in sample(DEFAULTS, HALF)])
def test_the_default_on_every_shape(team, dtype, nx, ny):
    problem = Problem(nx, ny, niter=25, dtype=dtype, tol=-1)  # the smallest grids would converge at once
    solver = make_solver(team, problem)
    assert (solver.fields.first, solver.fields.rows) == rows_of(ny, team.me)
    solver.reset()
    outcome = solver.run()
    expected, norms = reference.solve(problem, 25)
    assert_same_bits(solver, expected)
    np.testing.assert_allclose([norm for _, norm in outcome.history], norms, rtol=1e-7, atol=1e-15)
    outcome_alone, field = alone(team, problem)
    assert outcome_alone.history == outcome.history, "the norm has the same bits for any number of PEs"
    assert field.tobytes() == expected[1:-1].tobytes()
    solver.free()


@pytest.mark.parametrize("variant", sample(list(TABLE), HALF))
def test_stops_at_the_right_sweep(team, variant):
    """Neither sweeps after the last one nor a warm-up change the result, of a second run too."""
    turn = list(TABLE).index(variant) + N_PES
    last, nccheck = (5, 8, 10, 13)[turn % 4], (1, 2, 9)[turn % 3]
    shape = (33, 8 * N_PES + 12)
    norms = reference.solve(Problem(*shape), SWEEPS)[1]
    end = min(-(-last // nccheck) * nccheck, SWEEPS)
    problem = Problem(*shape, niter=SWEEPS, tol=norms[last] * 1.0001, nccheck=nccheck)
    solver = solver_of(team, problem, variant)
    solver.warm_up()
    for _ in range(2):
        solver.reset()
        outcome = solver.run()
        assert (outcome.reason, outcome.iterations) == ("converged", end + 1)
        assert_same_bits(solver, reference.solve(problem, end + 1)[0])
        np.testing.assert_allclose([norm for _, norm in outcome.history], norms[: end + 1 : nccheck], rtol=1e-6)
    outcome_alone, _ = alone(team, problem)
    assert (outcome_alone.iterations, outcome_alone.history) == (outcome.iterations, outcome.history)
    solver.free()


@pytest.mark.parametrize("value", [math.nan, math.inf, 1e30])
@pytest.mark.parametrize("variant", [DEFAULT, "blocked", "resident"])
def test_divergence_is_noticed(team, variant, value):
    problem = Problem(20, 4 * N_PES + 20, niter=50)
    initial = np.zeros((problem.ny, problem.nx), "float32")
    initial[problem.ny // 2, 7] = value
    solver = solver_of(team, problem, variant)
    solver.reset(initial)
    outcome = solver.run()
    assert (outcome.reason, outcome.iterations) == ("diverged", 1) and math.isnan(outcome.history[-1][1])
    solver.free()


@pytest.mark.parametrize("nccheck", [1, 20])
def test_a_chunk_is_repeated(team, monkeypatch, nccheck):
    """A norm inside a chunk ends the solve, after whole chunks of odd and of even numbers of sweeps."""
    for most_sweeps in (7, 10):
        monkeypatch.setattr(problems, "MOST_SWEEPS", most_sweeps)
        problem = Problem(33, 8 * N_PES + 12, niter=60, nccheck=nccheck)
        norms = reference.solve(problem, 60)[1]
        last = 34 // nccheck * nccheck
        solver = make_solver(team, replace(problem, tol=norms[last] * 1.0001), "blocked")
        solver.reset()
        outcome = solver.run()
        assert (outcome.reason, outcome.iterations, len(outcome.history)) == ("converged", last + 1, last // nccheck + 1)
        assert_same_bits(solver, reference.solve(problem, last + 1)[0])
        solver.free()


def test_a_picture_has_rows_in_order(team, monkeypatch):
    monkeypatch.setattr("apps.jacobi.plot.MAX_PIXELS", 15)
    problem = Problem(30, 45, niter=5)
    solver = make_solver(team, problem)
    solver.reset()
    solver.run()
    assert sampled(solver).tobytes() == reference.solve(problem, 5)[0][1:-1:3, ::3].tobytes()
    solver.free()


def test_tiny_changes_count(team):
    """The norm of a wave of 1e-18, whose squares vanish in float32; a sweep multiplies the wave by a number."""
    nx, ny = 300, N_PES + 8
    problem = Problem(nx, ny, niter=1)
    along_x, along_y = math.pi / (nx - 1), 2 * math.pi / (ny - 2)
    wave = np.cos(along_y * (np.arange(ny) - 1))[:, None] * np.sin(along_x * np.arange(nx))
    wave[:, [0, -1]] = 0
    solver = make_solver(team, problem)
    solver.reset(1e-18 * wave)
    change = 1 - (math.cos(along_x) + math.cos(along_y)) / 2
    assert solver.run().history[0][1] == pytest.approx(1e-18 * change * np.linalg.norm(wave[1:-1]), rel=1e-3)
    solver.free()


def test_wrong_variants(team):
    problem = Problem(20, N_PES + 20)
    with pytest.raises(ValueError, match="there is no variant 'fast': choose one of single, "):
        make_solver(team, problem, "fast")
    for variant in TABLE:  # an allocation of that size would raise another error
        with pytest.raises(ValueError, match="use a smaller --nx or --ny"):
            make_solver(team, Problem(2**31 - 1, 2**31 - 1), variant)
