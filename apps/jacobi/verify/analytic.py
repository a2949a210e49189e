"""Comparison of the field and the norms with formulas for them after n sweeps.

The boundary "periodic" is one wave of the ring: after any number of sweeps the field is that wave times a shape along x.
"""

import math
from typing import Any

import numpy as np
from mpi4py import MPI

from ...program.outcome import Outcome
from ..problem import Problem, column
from .verdict import Verdict, compare_norms

sentence = "every point and norm with the exact values (--bc periodic), at any size"

CHUNK_BYTES = 32 << 20


def why_not(team: Any, problem: Problem) -> str:
    return "" if problem.bc == "periodic" else f"no formula is known for --bc {problem.bc}: take --bc periodic"


def judge(solver: Any, outcome: Outcome) -> Verdict:
    problem, n = solver.problem, outcome.iterations
    shape, known = along_x(problem, n)
    error, allowed = _largest_error(solver, shape), tolerance(problem, n)
    norms = compare_norms(problem, outcome.history, known)
    exact = f"within {error:.2e} of the exact field after {n} sweeps ({allowed:.1e} allowed)"
    return Verdict(error <= allowed and norms.passed, f"every point {exact}; {norms.line}")


def tolerance(problem: Problem, sweeps: int) -> float:
    """The largest error that rounding explains.

    Changes smaller than a unit in the last place are lost: after 30,000 sweeps n / 180 eps were measured.
    """
    return (16.0 + 0.05 * min(sweeps, max(problem.nx, problem.ny) ** 2)) * float(np.finfo(problem.dtype).eps)


def _largest_error(solver: Any, shape: np.ndarray) -> float:
    """The largest error over the points of all PEs; inf if a point is NaN or infinite.  Collective.

    shape: shape of the exact field along x, (nx,)
    """
    worst, fields, wave = 0.0, solver.fields, column(solver.problem.ny, "periodic", "float64")
    step = max(1, CHUNK_BYTES // (solver.problem.nx * 8))
    for start in range(0, fields.rows, step):
        rows, first = fields.own(start, min(start + step, fields.rows)), fields.first + 1 + start
        difference = np.abs(rows - wave[first : first + len(rows), None] * shape)
        worst = max(worst, float(difference.max()) if np.isfinite(difference).all() else np.inf)
    return float(solver.team.comm.allreduce(worst, op=MPI.MAX))


def along_x(problem: Problem, sweeps: int) -> tuple[np.ndarray, np.ndarray]:
    """(shape along x (nx,) after the sweeps, norm of each sweep (sweeps,)) in float64, in O(nx) a sweep."""
    u, norms = np.zeros(problem.nx), np.empty(sweeps)
    u[0] = u[-1] = 1.0
    # (1 - cos a) / 2 = sin^2(a / 2) for the angle a from row to row.  The cosine is near 1, so its rounding error would
    # be multiplied by the square of the number of rows.
    short = math.sin(math.pi / (problem.ny - 2)) ** 2
    wave = math.sqrt((problem.ny - 2) / 2.0)  # the norm of the wave over the ring
    for k in range(sweeps):
        inner = u[1:-1]
        change = 0.25 * ((u[2:] - inner) + (u[:-2] - inner)) - short * inner
        norms[k] = wave * math.sqrt(float(change @ change))
        u[1:-1] += change
    return u, norms
