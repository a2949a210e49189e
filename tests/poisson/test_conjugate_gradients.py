"""Conjugate gradients under mpirun: one PE's bits from every variant, and NumPy's answer."""

import zlib
from random import Random

import numpy as np
import pytest
from mpi4py import MPI

import pennympi
from apps.poisson import manufactured
from apps.poisson.points import quotient
from apps.poisson.problem import Problem
from apps.poisson.solver import TABLE, Solver

pytestmark = pytest.mark.mpi
N_PES = MPI.COMM_WORLD.size

# shape, periodic, dtype, iterations
CASES = [
    ((17, 19), "", "float64", 40),
    ((17, 16), "y", "float32", 20),
    ((18, 16, 17), "xz", "float64", 20),
]


def problem_of(case):
    shape, around, dtype, iterations = case
    periodic = tuple(axis in around for axis in "xyz"[: len(shape)])
    return Problem(shape, periodic, dtype, 0.0, iterations, replace=20)


def solved(team, problem, variant, f_of=manufactured.right_side):
    """(checksum of u, history) on every PE, and the whole u on PE 0."""
    solver = Solver(team, problem, variant)
    solver.set_f(f_of(solver.grid, problem))
    outcome = solver.run()
    whole = solver.grid.gather(solver.fields["u"])
    if whole is not None:
        whole = whole * solver.unit
    solver.free()
    return team.comm.bcast(zlib.crc32(whole) if team.me == 0 else None), outcome.history, whole


@pytest.fixture(scope="module")
def team():
    with pennympi.init() as team:
        yield team


@pytest.fixture(scope="module")
def alone(team):
    """case -> (checksum of u, history) of a solve by PE 0 alone, on every PE."""
    known = {}

    def found(case):
        if case not in known:
            one = team.comm.Split(0 if team.me == 0 else MPI.UNDEFINED)
            result = None
            if team.me == 0:
                with pennympi.init(one) as single:
                    result = solved(single, problem_of(case), "loop")[:2]
            known[case] = team.comm.bcast(result)
        return known[case]

    return found


@pytest.mark.parametrize("case", CASES, ids=lambda case: "-".join(map(str, case)).replace(" ", ""))
@pytest.mark.parametrize("variant", TABLE)
def test_the_bits_of_one_pe(team, alone, variant, case):
    problem = problem_of(case)
    if reason := TABLE[variant].why_not(team):
        assert "GPU" in reason or "pointers" in reason
        return
    checksum, history, _ = solved(team, problem, variant)
    assert (checksum, history) == alone(case)


def operator(problem):
    """-laplace as a dense matrix."""
    matrix = np.zeros((problem.points, problem.points))
    numbers = np.arange(problem.points).reshape(problem.shape)
    for d, (h, around) in enumerate(zip(problem.spacings, problem.periodic, strict=True)):
        for step in (-1, 1):
            to = np.roll(numbers, step, axis=d)
            inside = np.ones(problem.shape, bool)
            if not around:
                edge = [slice(None)] * len(problem.shape)
                edge[d] = 0 if step == 1 else -1
                inside[tuple(edge)] = False
            matrix[numbers[inside], to[inside]] -= 1 / h**2
            matrix[numbers.ravel(), numbers.ravel()] += 1 / h**2
    return matrix


@pytest.mark.parametrize("variant", TABLE)
@pytest.mark.parametrize(("shape", "around"), [((17, 31), ""), ((8, 7, 6), "xz"), ((17, 3), ""), ((16, 8), "xy")])
def test_the_answer_of_a_dense_solve(team, shape, around, variant):
    if shape[0] < N_PES:
        return
    periodic = tuple(axis in around for axis in "xyz"[: len(shape)])
    problem = Problem(shape, periodic, tol=1e-11, niter=400)
    if TABLE[variant].why_not(team):
        return
    f = np.random.default_rng(7).standard_normal(shape)
    f -= f.mean() if problem.singular else 0.0

    def own(grid, problem):
        return f[tuple(slice(first, first + n) for first, n in zip(grid.first, grid.own, strict=True))]

    whole = solved(team, problem, variant, own)[2]
    error = 0.0
    if team.me == 0:
        expected = np.linalg.lstsq(operator(problem), f.ravel(), rcond=1e-12)[0].reshape(shape)
        whole = whole - (whole.mean() if problem.singular else 0.0)
        error = np.abs(whole - expected).max() / np.abs(expected).max()
    assert team.comm.bcast(error) < 1e-9


def test_nothing_to_solve(team):
    """f = 0, which one iteration finds out."""
    problem = Problem((17, 18), (False, False), niter=20, tol=0.0)
    _, history, whole = solved(team, problem, "loop", lambda grid, problem: np.zeros(grid.own))
    assert team.me or not whole.any()
    assert history == [0.0], "0 is at most any tolerance"


def test_what_diverges_is_said(team):
    problem = Problem((17, 18), (False, False), niter=100)
    solver = Solver(team, problem)
    f = np.ones(solver.grid.own)
    f[0, 0] = np.nan
    solver.set_f(f)
    assert solver.run().reason == "diverged"
    solver.free()


def test_quotients_without_a_division_of_ints():
    random = Random(8)
    for _ in range(20000):
        b = random.randint(1, 2 ** random.randint(1, 30))
        for a in (random.randrange(2**50), random.randrange(2**50 // b) * b, random.randint(1, 2**50 // b) * b - 1):
            assert quotient(a, b) == a // b, (a, b)


@pytest.mark.parametrize("variant", TABLE)
def test_the_end_is_exact(team, variant):
    """A solve ends with the first iteration whose residual is small enough, between two anew and beside one of them."""
    if TABLE[variant].why_not(team):
        return
    whole = solved(team, Problem((17, 18), (False, False), tol=0.0, niter=30, replace=10), variant)[1]
    for stop in (1, 7, 10, 11, 23):
        problem = Problem((17, 18), (False, False), tol=whole[stop - 1] * (1 + 1e-12), niter=27, replace=10)
        first = next(k for k, norm in enumerate(whole) if norm <= problem.tol)
        assert solved(team, problem, variant)[1] == whole[: first + 1]
    assert solved(team, Problem((17, 18), (False, False), tol=0.0, niter=27, replace=10), variant)[1] == whole[:27]
