"""Every variant on the PEs of this job: the bits of NumPy's field, and of the history of one PE."""

import math

import numpy as np
import pytest
from mpi4py import MPI
from reductions import some

import pennympi
from apps.jacobi.grid.problem import Problem
from apps.jacobi.solver import Solver
from apps.jacobi.timing.serial import Serial
from apps.jacobi.variants import TABLE
from apps.jacobi.verify import reference

N_PES = MPI.COMM_WORLD.size

# test_solver.py tests "nvshmem_overlap", the default.
KINDS = [(name, {}) for name in TABLE if name not in ("nvshmem_overlap", "blocked")]
KINDS += [("blocked", {"sweeps": sweeps}) for sweeps in (1, 2, 4, 8)]
# (nx, ny): the smallest of both; fewer rows than sweeps of a pass, and twice as many; odd ones; more than one segment
SHAPES = [(3, N_PES + 2), (17, 2 * N_PES + 3), (61, 67), (243, 5 * N_PES + 9), (485, 17 * N_PES + 2)]
SWEEPS = 21

pytestmark = pytest.mark.mpi


@pytest.fixture(scope="module")
def team():
    with pennympi.init() as team:
        yield team


def solver_of(team, problem, kind):
    """A solver, or None where the variant cannot run, which must then raise."""
    name, settings = kind
    if not TABLE[name].refuse(team, problem):
        return Solver(team, problem, name, **settings)
    with pytest.raises(ValueError, match=f"the variant {name} cannot run here: "):
        Solver(team, problem, name, **settings)
    assert (name == "single" and team.n_pes > 1) or (name in ("nccl", "nccl_overlap", "graph") and team.backend == "host")


def assert_same_bits(solver, expected):
    first, rows = solver.slab.first, solver.slab.rows
    assert solver.rows(0, rows).tobytes() == expected[first : first + rows].tobytes()


def name_of(kind):
    return "-".join([kind[0], *map(str, kind[1].values())])


@pytest.mark.parametrize("kind", KINDS, ids=name_of)
def test_field_and_history(team, kind):
    """Each variant and number of PEs tests one shape, dtype and nccheck, in turn."""
    turn = KINDS.index(kind) + N_PES
    nx, ny = SHAPES[turn % len(SHAPES)]
    dtype, nccheck = ("float32", "float64")[turn // 2 % 2], (1, 5, 3)[turn % 3]
    problem = Problem(nx, ny, niter=SWEEPS, tol=-1, nccheck=nccheck, dtype=dtype)
    initial = np.random.default_rng(turn).standard_normal((ny, nx)).astype(dtype)
    initial[0], initial[-1] = initial[-2], initial[1]
    solver = solver_of(team, problem, kind)
    if solver is None:
        return
    solver.reset(initial)
    outcome = solver.run()
    expected, norms = reference.solve(problem, SWEEPS, initial)
    assert_same_bits(solver, expected)
    assert [iteration for iteration, _ in outcome.history] == list(range(0, SWEEPS, nccheck))
    np.testing.assert_allclose([norm for _, norm in outcome.history], norms[::nccheck], rtol=1e-6, atol=1e-15)
    assert Serial(team, problem).run(SWEEPS, initial=initial)[0].history == outcome.history
    solver.free()


@pytest.mark.parametrize("kind", some(KINDS, 1 if N_PES <= 4 else 2), ids=name_of)
def test_stops_at_the_right_sweep(team, kind):
    """Sweeps beyond the last leave no trace, not even in a second run, and a warm-up leaves none."""
    turn = KINDS.index(kind) + N_PES
    last, nccheck = (5, 8, 10, 13)[turn % 4], (1, 2, 9)[turn % 3]
    shape = (33, 8 * N_PES + 12)
    norms = reference.solve(Problem(*shape), SWEEPS)[1]
    at = min(-(-last // nccheck) * nccheck, SWEEPS)
    problem = Problem(*shape, niter=SWEEPS, tol=norms[last] * 1.0001, nccheck=nccheck)
    solver = solver_of(team, problem, kind)
    if solver is None:
        return
    solver.warm_up()
    for _ in range(2):
        solver.reset()
        outcome = solver.run()
        assert (outcome.reason, outcome.iterations) == ("converged", at + 1)
        assert_same_bits(solver, reference.solve(problem, at + 1)[0])
        np.testing.assert_allclose([norm for _, norm in outcome.history], norms[: at + 1 : nccheck], rtol=1e-6)
    solver.exchange()
    solver.synchronize()
    assert_same_bits(solver, reference.solve(problem, at + 1)[0])
    solver.free()


@pytest.mark.parametrize("kind", [("device", {}), ("persistent", {}), ("blocked", {"sweeps": 4})], ids=name_of)
def test_divergence_is_noticed(team, kind):
    problem = Problem(20, 4 * N_PES + 20, niter=50)
    initial = np.zeros((problem.ny, problem.nx), "float32")
    initial[problem.ny // 2, 7] = math.nan
    solver = solver_of(team, problem, kind)
    solver.reset(initial)
    outcome = solver.run()
    assert (outcome.reason, outcome.iterations) == ("diverged", 1) and math.isnan(outcome.history[-1][1])
    solver.free()


def test_stretches_make_a_solve(team):
    """A solve in stretches that end inside a pass."""
    problem = Problem(40, 9 * N_PES + 2, niter=23, tol=-1, nccheck=4)
    solver, outcome = Solver(team, problem, "blocked", sweeps=4), None
    solver.reset()
    for stop in (1, 6, 13, 23):
        outcome = solver.run(outcome=outcome, stop=stop)
    assert_same_bits(solver, reference.solve(problem, 23)[0])
    assert outcome.history == Serial(team, problem).run(23)[0].history
    solver.free()


def test_wrong_settings(team):
    problem = Problem(20, N_PES + 20)
    with pytest.raises(ValueError, match="there is no variant 'fast': choose one of single, "):
        Solver(team, problem, "fast")
    with pytest.raises(ValueError, match="the variant mpi has no setting sweeps"):
        Solver(team, problem, "mpi", sweeps=4)
