"""A second solve, from a field that each sweep multiplies by a known number."""

from typing import Any

import numpy as np

from ....program.outcome import Outcome
from ...grid import spectrum
from ...grid.problem import Problem
from .. import oracles
from .check import Check, Verdict, largest_error

MAX_SWEEPS, MIN_DECAY = 1000, 0.01  # the field must not decay below what can be compared
# Allowed errors in eps, for values up to 1.  Measured up to n = 2,000: Jacobi 1.7 and 4, Chebyshev n / 2 and n / 2.5.
JACOBI = {"float32": 8.0, "float64": 32.0}


def tolerance(problem: Problem, sweeps: int) -> float:
    """The largest error that rounding explains.

    Chebyshev's weights near 2 carry rounding errors on, for about as many sweeps as the grid is wide.
    """
    eps = float(np.finfo(problem.dtype).eps)
    if problem.method == "jacobi":
        return JACOBI[problem.dtype] * eps
    return (16.0 + min(sweeps, max(problem.nx, problem.ny))) * eps


class Mode:
    """``times`` eigenmode (p, q) as a global field (ny, nx), of which an index computes some rows."""

    def __init__(self, problem: Problem, p: int, q: int, times: float = 1.0):
        self._y, self._x = oracles.eigenmode_axes(problem.nx, problem.ny, p, q)
        self._x = self._x * times

    def __getitem__(self, rows: np.ndarray) -> np.ndarray:
        """Global rows (n,) -> (n, nx) float64."""
        return self._y[rows][:, None] * self._x[None, :]


class Eigenmode(Check):
    """Every point of the second solve is known, and each PE checks its own points, at any size."""

    sentence = "every point of a second solve that starts from an eigenmode of the sweep"

    def judge(self, solver: Any, outcome: Outcome) -> Verdict:
        problem = solver.problem
        p, q = min(2, problem.nx - 2), min(3, (problem.ny - 2) // 2)
        sweeps = max(1, min(problem.niter, MAX_SWEEPS, int(spectrum.sweeps_to(MIN_DECAY, problem))))
        solver.reset(Mode(problem, p, q))
        done = solver.run(outcome=Outcome(), stop=sweeps).iterations
        left = spectrum.decay(problem, done, p, q)
        error, allowed = largest_error(solver, Mode(problem, p, q, left).__getitem__), tolerance(problem, done)
        line = (
            f"eigenmode ({p}, {q}) within {error:.2e} of {left:.6f} times itself after {done} sweeps "
            f"({allowed:.1e} allowed)"
        )
        numbers = {"mode": [p, q], "sweeps": done, "left": left, "largest_error": error, "allowed": allowed}
        return Verdict(error <= allowed, line, numbers)
