"""Conjugate gradients under mpirun: one PE's bits from every variant, and NumPy's answer."""

import zlib
from functools import cache
from random import Random

import numpy as np
import pytest
from mpi4py import MPI

import pennympi
from apps.poisson.manufactured import right_side
from apps.poisson.points import quotient
from apps.poisson.problem import Problem
from apps.poisson.solver import TABLE, Solver, why_not

pytestmark = pytest.mark.mpi
N_PES = MPI.COMM_WORLD.size
every_pair = pytest.mark.parametrize(
    ("variant", "method"), [(variant, method) for variant, form in TABLE.items() for method in form.methods]
)


def problem_of(shape, around, method="cg", **how):
    return Problem(shape, tuple(axis in around for axis in "xyz"[: len(shape)]), method=method, **how)


def solved(team, problem, variant="loop", f_of=right_side):
    """(checksum of u, history) on every PE, and the whole u on PE 0.  Skips what cannot run here."""
    if reason := why_not(variant, team, problem):
        assert team.backend == "host" or variant == "on_chip"
        pytest.skip(reason)
    solver = Solver(team, problem, variant)
    solver.set_f(f_of(solver.grid, problem))
    history = solver.run().history
    whole = solver.grid.gather(solver.fields["u"])
    if whole is not None:
        whole = whole * solver.unit
    solver.free()
    return team.comm.bcast(zlib.crc32(whole) if team.me == 0 else None), history, whole


@pytest.fixture(scope="module")
def team():
    with pennympi.init() as team:
        yield team


@pytest.fixture(scope="module")
def alone(team):
    """(checksum of u, history) of a solve by PE 0 alone and kernels in a loop, on every PE."""

    @cache
    def found(shape, around, dtype, niter, method):
        one, result = team.comm.Split(0 if team.me == 0 else MPI.UNDEFINED), None
        if team.me == 0:
            with pennympi.init(one) as single:
                variant = next(name for name, form in TABLE.items() if method in form.methods)
                problem = problem_of(shape, around, method, dtype=dtype, tol=0.0, niter=niter, replace=20)
                result = solved(single, problem, variant)[:2]
        return team.comm.bcast(result)

    return found


@every_pair
@pytest.mark.parametrize(
    ("shape", "around", "dtype", "niter"),
    [
        ((17, 19), "", "float64", 40),
        ((17, 16), "y", "float32", 20),
        ((18, 16, 17), "xz", "float64", 20),
        ((32, 32, 16), "yz", "float64", 40),  # a part of it is a brick, or several, of the variant on the chip
    ],
)
def test_the_bits_of_one_pe(team, alone, variant, method, shape, around, dtype, niter):
    problem = problem_of(shape, around, method, dtype=dtype, tol=0.0, niter=niter, replace=20)
    assert solved(team, problem, variant)[:2] == alone(shape, around, dtype, niter, method)


def applied(problem, u):
    """-laplace(u), float64."""
    f = np.zeros(u.shape)
    for d, (h, around) in enumerate(zip(problem.spacings, problem.periodic, strict=True)):
        wide = np.pad(u, [(int(k == d),) * 2 for k in range(u.ndim)], mode="wrap" if around else "constant")
        before, after = (np.moveaxis(wide, d, 0)[s] for s in (slice(None, -2), slice(2, None)))
        f += (2 * u - np.moveaxis(before + after, 0, d)) / h**2
    return f


def plain(problem, f):
    """NumPy's u and the norms of its residuals over that of f, by the plain method."""
    u, r, p, norms = np.zeros(f.shape), f.copy(), np.zeros(f.shape), []
    rr, beta = float((r * r).sum()), 0.0
    while len(norms) < problem.niter and (not norms or norms[-1] > problem.tol):
        p = r + beta * p
        q = applied(problem, p)
        alpha = rr / float((p * q).sum())
        u, r = u + alpha * p, r - alpha * q
        rr, old = float((r * r).sum()), rr
        beta = rr / old
        norms.append(float(np.sqrt(rr / (f * f).sum())))
    return u, norms


@every_pair
@pytest.mark.parametrize(
    ("shape", "around"), [((17, 31), ""), ((8, 7, 6), "xz"), ((17, 3), ""), ((16, 8), "xy"), ((16, 16, 16), "")]
)
def test_numpys_answer(team, shape, around, variant, method):
    """The same residuals in all iterations, and the same u; both to the rounding that a hard right-hand side allows."""
    problem = problem_of(shape, around, method, tol=1e-11, niter=400)
    if shape[0] < N_PES:
        return
    f = np.random.default_rng(7).standard_normal(shape)
    f -= f.mean() if problem.singular else 0.0

    def own(grid, problem):
        return f[tuple(slice(first, first + n) for first, n in zip(grid.first, grid.own, strict=True))]

    _, history, whole = solved(team, problem, variant, own)
    expected, norms = plain(problem, f)
    assert abs(len(history) - len(norms)) <= 1
    assert np.allclose(history[:20], norms[:20], rtol=1e-6, atol=1e-11)
    error, residual = 0.0, 0.0
    if team.me == 0:
        residual = np.linalg.norm(applied(problem, whole) - f) / np.linalg.norm(f)
        whole = whole - (whole - expected).mean() * problem.singular
        error = np.abs(whole - expected).max() / np.abs(expected).max()
    assert max(team.comm.bcast((error, residual))) < 1e-9


def test_nothing_to_solve(team):
    """f = 0, which one iteration finds out."""
    _, history, whole = solved(team, problem_of((17, 18), "", tol=0.0), f_of=lambda grid, problem: np.zeros(grid.own))
    assert team.me or not whole.any()
    assert history == [0.0], "0 is at most any tolerance"


def test_what_diverges_is_said(team):
    solver = Solver(team, problem_of((17, 18), "", niter=100))
    f = np.ones(solver.grid.own)
    f[0, 0] = np.nan
    solver.set_f(f)
    assert solver.run().reason == "diverged"
    solver.free()


def test_quotients_without_a_division_of_ints():
    random = Random(8)
    for _ in range(2000):
        b = random.randint(1, 2 ** random.randint(1, 30))
        for a in (random.randrange(2**50), random.randrange(2**50 // b) * b, random.randint(1, 2**50 // b) * b - 1):
            assert quotient(a, b) == a // b, (a, b)


def test_random_ends_on_chip(team):
    """Hundreds of solves by one kernel end where the host finds the residual small enough."""
    problem = problem_of((32, 16, 16), "", tol=0.0, niter=40)
    if reason := why_not("on_chip", team, problem):
        pytest.skip(reason)
    solver, random = Solver(team, problem, "on_chip"), Random(9)
    f = right_side(solver.grid, problem)
    solver.set_f(f)
    norms = solver.run().history
    for _ in range(300):
        problem.tol = random.choice(norms) * random.choice((1 + 1e-12, random.uniform(1, 2)))
        solver.set_f(f)
        assert len(solver.run().history) == next(k for k, norm in enumerate(norms, 1) if norm <= problem.tol)
    solver.free()


@every_pair
def test_the_end_is_exact(team, variant, method):
    """A solve ends with the first iteration whose residual is small enough, between two anew and beside one of them."""

    def history(tol, niter):
        return solved(team, problem_of((32, 16, 18), "", method, tol=tol, niter=niter, replace=10), variant)[1]

    whole = history(0.0, 30)
    for stop in (1, 7, 10, 11, 23):
        tol = whole[stop - 1] * (1 + 1e-12)
        assert history(tol, 27) == whole[: next(k for k, norm in enumerate(whole) if norm <= tol) + 1]
    assert history(0.0, 27) == whole[:27]
