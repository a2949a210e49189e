"""A known solution, u = g(x) g(y) g(z) with f = -laplace(u), and whether the solver's answer is near it."""

import math
from typing import Any

import numpy as np

from .solver import Problem


def g_of(n: int, h: float, around: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """g, its second derivative, and what its second difference has more: exp(t) t (1 - t), or exp(sin(2 pi t))."""
    t, w = np.arange(-1 if around else 0, n + (1 if around else 2)) * h, 2 * math.pi
    s, e = np.sin(w * t), np.exp(t)
    g = np.exp(s) if around else (t - t * t) * e
    second = w**2 * (np.cos(w * t) ** 2 - s) * g if around else -(3 * t + t * t) * e
    return g[1:-1], second[1:-1], (g[:-2] - 2 * g[1:-1] + g[2:]) / h**2 - second[1:-1]


def known(grid: Any, problem: Problem) -> tuple[np.ndarray, ...]:
    """u, laplace(u), and what differences have more than laplace(u), at this PE's own points, float64 (own)."""
    whole = map(g_of, problem.shape, problem.spacings, problem.periodic)  # NumPy may round an element by its place
    axes = [[g[k : k + n] for g in gs] for gs, k, n in zip(whole, grid.first, grid.own, strict=True)]

    def term(which: int, d: int) -> Any:
        return math.prod(np.ix_(*(gs[which if k == d else 0] for k, gs in enumerate(axes))))

    return term(0, 0), *(sum(term(which, d) for d in range(len(axes))) for which in (1, 2))


def right_side(grid: Any, problem: Problem) -> np.ndarray:
    """f at this PE's own points, float64 (own)."""
    return -known(grid, problem)[1]


def judge(solver: Any) -> tuple[bool, str]:
    """(whether the solver's u and its residual are right, a line that says why).  Collective.

    The residual, and what differences have more than derivatives, pass through an inverse of norm 1 / ``least``.
    """
    problem, comm = solver.problem, solver.team.comm

    def rms(x: np.ndarray) -> float:
        return math.sqrt(comm.allreduce(float(np.square(x).sum())) / math.prod(problem.shape))

    u, laplace, truncation = known(solver.grid, problem)
    error, residual = rms(solver.u() - u), solver.residual()
    ends = [h for h, around in zip(problem.spacings, problem.periodic, strict=True) if not around]
    least = sum((1 - math.cos(math.pi * h)) * 2 / h**2 for h in ends)
    condition = sum(4.0 / h**2 for h in problem.spacings) / least
    eps = 64.0 * float(np.finfo(problem.dtype).eps)  # of a residual, over the condition number's square root
    allowed = (rms(truncation) + rms(laplace) * (residual + eps * math.sqrt(condition))) / least
    return error <= allowed and residual <= 2.0 * problem.tol + eps * condition, (
        f"root mean square of the error {error:.3e} ({allowed:.3e} allowed at this h); "
        f"residual computed anew {residual:.3e} ({problem.tol:g} wanted)"
    )
