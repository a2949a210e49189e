"""The field and the norms against formulas for them after n sweeps, and for the limit of the field.

The boundary "periodic" is one wave of the ring: after any number of sweeps the field is that wave times a shape along x.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from mpi4py import MPI

from ...program.outcome import Outcome
from ..problem import Problem, column
from .verdict import Verdict, compare_norms

sentence = "every point and norm with the exact ones, and the field with the steady state (--bc periodic), at any size"

CHUNK_BYTES = 32 << 20


def why_not(team: Any, problem: Problem) -> str:
    return "" if problem.bc == "periodic" else f"no formula is known for --bc {problem.bc}: take --bc periodic"


def judge(solver: Any, outcome: Outcome) -> Verdict:
    problem, n = solver.problem, outcome.iterations
    wave = column(problem.ny, "periodic", "float64")
    (shape, known), steady = along_x(problem, n), steady_along_x(problem)
    error = _largest_error(solver, lambda rows: wave[rows][:, None] * shape[None, :])
    away = _largest_error(solver, lambda rows: wave[rows][:, None] * steady[None, :])
    allowed, to_go = tolerance(problem, n), float(np.abs(shape - steady).max() * np.abs(wave).max())
    norms = compare_norms(problem, outcome.history, known)
    exact = f"within {error:.2e} of the exact field after {n} sweeps ({allowed:.1e} allowed)"
    line = f"every point {exact}, and within {away:.2e} of the steady state ({to_go:.2e} by the formula); {norms.line}"
    return Verdict(error <= allowed and norms.passed, line)


def tolerance(problem: Problem, sweeps: int) -> float:
    """The largest error that rounding explains.

    Changes become smaller than a unit in the last place, and then stop: measured n / 180 eps at 30,000 sweeps.
    """
    return (16.0 + 0.05 * min(sweeps, max(problem.nx, problem.ny) ** 2)) * float(np.finfo(problem.dtype).eps)


def _largest_error(solver: Any, expected: Callable[[np.ndarray], np.ndarray]) -> float:
    """The largest error over the points of all PEs; inf if a point is NaN or infinite.  Collective.

    expected: global row numbers (n,) -> rows (n, nx) float64
    """
    worst, fields = 0.0, solver.fields
    step = max(1, CHUNK_BYTES // (solver.problem.nx * 8))
    for start in range(0, fields.rows, step):
        rows = fields.own(start, min(start + step, fields.rows))
        difference = np.abs(rows - expected(fields.first + 1 + start + np.arange(len(rows))))
        worst = max(worst, float(difference.max()) if np.isfinite(difference).all() else np.inf)
    return float(solver.team.comm.allreduce(worst, op=MPI.MAX))


def along_x(problem: Problem, sweeps: int) -> tuple[np.ndarray, np.ndarray]:
    """(shape along x (nx,) after the sweeps, norm of each sweep (sweeps,)) in float64, in O(nx) a sweep."""
    u, norms = np.zeros(problem.nx), np.empty(sweeps)
    u[0] = u[-1] = 1.0
    # (1 - cosine) / 2 of the angle from row to row.  The cosine is near 1, and its rounding would grow by the square of
    # the number of rows.
    short = math.sin(math.pi / (problem.ny - 2)) ** 2
    wave = math.sqrt((problem.ny - 2) / 2.0)  # the norm of the wave over the ring
    for k in range(sweeps):
        inner = u[1:-1]
        change = 0.25 * ((u[2:] - inner) + (u[:-2] - inner)) - short * inner
        norms[k] = wave * math.sqrt(float(change @ change))
        u[1:-1] += change
    return u, norms


def steady_along_x(problem: Problem) -> np.ndarray:
    """The limit of the shape, (nx,) float64."""
    k = 2.0 * math.asinh(math.sin(math.pi / (problem.ny - 2)))
    middle = (problem.nx - 1) / 2.0
    distance = np.abs(np.arange(problem.nx) - middle)
    # cosh(k d) / cosh(k m) by decaying exponentials, because either cosh may overflow
    return np.exp(k * (distance - middle)) * (1.0 + np.exp(-2.0 * k * distance)) / (1.0 + math.exp(-2.0 * k * middle))
