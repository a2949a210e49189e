"""Conjugate gradients on the PEs of this job: the bits of one PE, and NumPy's answer."""

import math
import zlib
from functools import cache

import numpy as np
import pytest
from halo_reference import own_of
from mpi4py import MPI

import pennympi
from apps.poisson.manufactured import right_side
from apps.poisson.solver import Problem, Solver

pytestmark = pytest.mark.mpi
N_PES = MPI.COMM_WORLD.size


def problem_of(shape, periodic, **options):
    return Problem(shape, tuple(axis in periodic for axis in "xyz"[: len(shape)]), **options)


def solved(team, problem, f_of=right_side):
    """(checksum of u, norms) on every PE, and the whole u on PE 0."""
    solver = Solver(team, problem)
    solver.set_f(f_of(solver.grid, problem))
    norms = solver.run()
    whole = solver.grid.gather(solver.fields["u"])
    if whole is not None:
        whole = whole * solver.unit
    solver.free()
    return team.comm.bcast(zlib.crc32(whole) if team.me == 0 else None), norms, whole


@pytest.fixture(scope="module")
def team():
    with pennympi.init() as team:
        yield team


@pytest.fixture(scope="module")
def alone(team):
    """A function that returns (checksum of u, norms) of a solve by PE 0 alone, on every PE."""

    @cache
    def solve(shape, periodic, dtype, niter):
        comm, result = team.comm.Split(0 if team.me == 0 else MPI.UNDEFINED), None
        if team.me == 0:
            with pennympi.init(comm) as single:
                result = solved(single, problem_of(shape, periodic, dtype=dtype, tol=0.0, niter=niter, replace=20))[:2]
        return team.comm.bcast(result)

    return solve


@pytest.mark.parametrize(
    ("shape", "periodic", "dtype", "niter"),
    [
        ((17, 19), "", "float64", 40),
        ((17, 16), "y", "float32", 20),
        ((18, 16, 17), "xz", "float64", 20),
        ((32, 32, 16), "yz", "float64", 40),
    ],
)
def test_one_pes_bits(team, alone, shape, periodic, dtype, niter):
    problem = problem_of(shape, periodic, dtype=dtype, tol=0.0, niter=niter, replace=20)
    assert solved(team, problem)[:2] == alone(shape, periodic, dtype, niter)


def applied(problem, u):
    """-laplace(u), float64."""
    f = np.zeros(u.shape)
    for d, (h, periodic) in enumerate(zip(problem.spacings, problem.periodic, strict=True)):
        wide = np.pad(u, [(int(k == d),) * 2 for k in range(u.ndim)], mode="wrap" if periodic else "constant")
        before, after = (np.moveaxis(wide, d, 0)[s] for s in (slice(None, -2), slice(2, None)))
        f += (2 * u - np.moveaxis(before + after, 0, d)) / h**2
    return f


def plain(problem, f):
    """NumPy's u, and the norms of its residuals over the norm of f."""
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


@pytest.mark.parametrize(
    ("shape", "periodic"), [((17, 31), ""), ((8, 7, 6), "xz"), ((17, 3), ""), ((16, 8), "x"), ((16, 16, 16), "")]
)
def test_numpys_answer(team, shape, periodic):
    """The same residuals in all iterations, and the same u, except for the rounding of a hard right-hand side."""
    problem = problem_of(shape, periodic, tol=1e-11, niter=400)
    if shape[0] < N_PES:
        return
    f = np.random.default_rng(7).standard_normal(shape)
    _, norms, whole = solved(team, problem, lambda grid, problem: own_of(grid, f))
    expected, expected_norms = plain(problem, f)
    assert abs(len(norms) - len(expected_norms)) <= 1
    assert np.allclose(norms[:20], expected_norms[:20], rtol=1e-6, atol=1e-11)
    error, residual = 0.0, 0.0
    if team.me == 0:
        residual = np.linalg.norm(applied(problem, whole) - f) / np.linalg.norm(f)
        error = np.abs(whole - expected).max() / np.abs(expected).max()
    assert max(team.comm.bcast((error, residual))) < 1e-9


def test_many_blocks_on_a_cpu(team, monkeypatch):
    """If a block may add only few values, a kernel has more blocks, and the same bits."""
    problem = problem_of((17, 19), "", tol=0.0, niter=40)
    expected = solved(team, problem)[:2]
    monkeypatch.setattr("apps.poisson.solver.MOST_IN_BLOCK", 40)
    assert solved(team, problem)[:2] == expected


def test_nothing_to_solve(team):
    """f = 0, which takes one iteration."""
    _, norms, whole = solved(team, problem_of((17, 18), "", tol=0.0), lambda grid, problem: np.zeros(grid.own))
    assert team.me or not whole.any()
    assert norms == [0.0], "0 is at most any tolerance"


def test_a_solve_that_diverges_ends(team):
    solver = Solver(team, problem_of((17, 18), "", niter=100))
    f = np.ones(solver.grid.own)
    f[0, 0] = np.nan
    solver.set_f(f)
    assert len(norms := solver.run()) < 100 and math.isnan(norms[-1])
    solver.free()


def test_the_end_is_exact(team):
    """A solve ends with the first iteration whose residual is small enough, wherever the residual is computed from u."""

    def norms(tol, niter):
        return solved(team, problem_of((32, 16, 18), "", tol=tol, niter=niter, replace=10))[1]

    whole = norms(0.0, 30)
    for stop in (1, 7, 10, 11, 23):
        tol = whole[stop - 1] * (1 + 1e-12)
        assert norms(tol, 27) == whole[: next(k for k, norm in enumerate(whole) if norm <= tol) + 1]
    assert norms(0.0, 27) == whole[:27]
