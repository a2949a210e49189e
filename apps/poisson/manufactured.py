"""A known solution, u = g(x) g(y) g(z) with f = -laplace(u), and the comparison of the solver's u with it."""

import math
from typing import Any

import numpy as np

from .solver import Problem


def g_of(n: int, h: float, periodic: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(g, its second derivative, truncation error of its second difference) at n points of spacing h.

    g is exp(sin(2 pi t)) if periodic, else exp(t) t (1 - t).
    """
    t, w = np.arange(-1 if periodic else 0, n + (1 if periodic else 2)) * h, 2 * math.pi
    s, e = np.sin(w * t), np.exp(t)
    g = np.exp(s) if periodic else (t - t * t) * e
    second = w**2 * (np.cos(w * t) ** 2 - s) * g if periodic else -(3 * t + t * t) * e
    return g[1:-1], second[1:-1], (g[:-2] - 2 * g[1:-1] + g[2:]) / h**2 - second[1:-1]


def known(grid: Any, problem: Problem) -> tuple[np.ndarray, ...]:
    """(u, laplace(u), truncation error of its differences) at this PE's own points, float64 (own)."""
    # g is computed over the whole grid, since NumPy's rounding of an element may depend on its index.
    whole = map(g_of, problem.shape, problem.spacings, problem.periodic)
    axes = [[g[k : k + n] for g in gs] for gs, k, n in zip(whole, grid.first, grid.own, strict=True)]

    def term(which: int, d: int) -> Any:
        return math.prod(np.ix_(*(gs[which if k == d else 0] for k, gs in enumerate(axes))))

    return term(0, 0), *(sum(term(which, d) for d in range(len(axes))) for which in (1, 2))


def right_side(grid: Any, problem: Problem) -> np.ndarray:
    """f at this PE's own points, float64 (own)."""
    return -known(grid, problem)[1]


def judge(solver: Any) -> tuple[bool, str]:
    """(True if the solver's u and its residual are right, a line for the report).  Collective.

    The allowed error is the residual plus the truncation error, times 1 / ``least``, the norm of A's inverse.
    """
    problem, comm = solver.problem, solver.team.comm

    def rms(x: np.ndarray) -> float:
        return math.sqrt(comm.allreduce(float(np.square(x).sum())) / math.prod(problem.shape))

    u, laplace, truncation = known(solver.grid, problem)
    error, residual = rms(solver.u() - u), solver.residual()
    of_ends = [h for h, periodic in zip(problem.spacings, problem.periodic, strict=True) if not periodic]
    least = sum((1 - math.cos(math.pi * h)) * 2 / h**2 for h in of_ends)
    condition = sum(4.0 / h**2 for h in problem.spacings) / least
    eps = 64.0 * float(np.finfo(problem.dtype).eps)  # a residual's rounding error over sqrt(condition)
    allowed = (rms(truncation) + rms(laplace) * (residual + eps * math.sqrt(condition))) / least
    return error <= allowed and residual <= 2.0 * problem.tol + eps * condition, (
        f"root mean square of the error {error:.3e} ({allowed:.3e} allowed at this h); "
        f"residual computed from u {residual:.3e} ({problem.tol:g} wanted)"
    )
