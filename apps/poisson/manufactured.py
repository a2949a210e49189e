"""A solution that is known, u = g(x) g(y) g(z) with f = -laplace(u), and whether the solver's answer is near it."""

import math
from typing import Any

import numpy as np

from .problem import Problem

ROUNDING = 64.0  # times eps: of a residual, over the condition number's square root


def g_of(n: int, h: float, around: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """g, its second derivative, and what its second difference has more: exp(t) t (1 - t), or exp(sin(2 pi t))."""
    t, w = np.arange(-1 if around else 0, n + (1 if around else 2)) * h, 2 * math.pi
    s, e = np.sin(w * t), np.exp(t)
    g = np.exp(s) if around else (t - t * t) * e
    second = w**2 * (np.cos(w * t) ** 2 - s) * g if around else -(3 * t + t * t) * e
    return g[1:-1], second[1:-1], (g[:-2] - 2 * g[1:-1] + g[2:]) / h**2 - second[1:-1]


def terms(problem: Problem, which: int) -> list[list[np.ndarray]]:
    """Of a sum over the dimensions: g of each, but ``g_of``'s number ``which`` of the term's own.

    Whole dimensions, since NumPy may round an element by its place.
    """
    every = list(map(g_of, problem.shape, problem.spacings, problem.periodic))
    return [[one[which if k == d else 0] for k, one in enumerate(every)] for d in range(len(every))]


def own(grid: Any, term: list[np.ndarray]) -> np.ndarray:
    """A term at this PE's own points."""
    parts = [one[first : first + n] for one, first, n in zip(term, grid.first, grid.own, strict=True)]
    return np.asarray(math.prod(np.ix_(*parts)))


def right_side(grid: Any, problem: Problem) -> np.ndarray:
    """f at this PE's own points, float64 (own)."""
    return np.asarray(-sum(own(grid, term) for term in terms(problem, 1)))


def judge(solver: Any) -> tuple[bool, str]:
    """(whether the solver's u and its residual are right, a line that says why).  Collective.

    The residual, and what differences differ by from derivatives, pass through an inverse of the norm 1 / ``least``.
    """
    problem, comm, h = solver.problem, solver.team.comm, solver.problem.spacings
    error = solver.u() - own(solver.grid, terms(problem, 0)[0])
    if problem.singular:  # both are known up to a constant
        error = error - comm.allreduce(float(error.sum())) / problem.points
    rms, residual = math.sqrt(comm.allreduce(float(np.square(error).sum())) / problem.points), solver.residual()
    waves = [(1 - math.cos(math.pi * (1 + p) * s)) * 2 / s**2 for s, p in zip(h, problem.periodic, strict=True)]
    least = min(waves) if problem.singular else sum(w for w, p in zip(waves, problem.periodic, strict=True) if not p)
    condition, eps = sum(4.0 / s**2 for s in h) / least, ROUNDING * float(np.finfo(problem.dtype).eps)
    f, truncation = (
        sum(math.prod(math.sqrt(np.square(one).mean()) for one in term) for term in terms(problem, which))
        for which in (1, 2)
    )
    allowed = (truncation + f * (residual + eps * math.sqrt(condition))) / least
    return rms <= allowed and residual <= 2.0 * problem.tol + eps * condition, (
        f"root mean square of the error {rms:.3e} ({allowed:.3e} allowed at this h); "
        f"residual computed anew {residual:.3e} ({problem.tol:g} wanted)"
    )
