"""A second solve, from a field that every sweep multiplies by a known number."""

from typing import Any

import numpy as np

from ...grid import spectrum
from ...grid.problem import Problem
from ...outcome import Outcome
from .. import oracles
from .check import Check, Verdict, largest_error

MAX_SWEEPS, MIN_DECAY = 1000, 0.01  # so that there is something left to compare
# In eps of a field of size 1.  Measured at up to 2,000 sweeps: Jacobi 1.7 and 4, Chebyshev n / 2 and n / 2.5.
JACOBI = {"float32": 8.0, "float64": 32.0}


def tolerance(problem: Problem, sweeps: int) -> float:
    """Largest error that rounding explains: Chebyshev's weights near 2 hand it on, up to about one width of the grid."""
    eps = float(np.finfo(problem.dtype).eps)
    if problem.method == "jacobi":
        return JACOBI[problem.dtype] * eps
    return (16.0 + min(sweeps, max(problem.nx, problem.ny))) * eps


class Mode:
    """The field, a few rows at a time: a global field (ny, nx) to start from."""

    def __init__(self, problem: Problem, p: int, q: int, times: float = 1.0):
        self._y, self._x = oracles.eigenmode_axes(problem.nx, problem.ny, p, q)
        self._x = self._x * times

    def __getitem__(self, rows: np.ndarray) -> np.ndarray:
        """Global rows (n,) -> (n, nx) float64."""
        return self._y[rows][:, None] * self._x[None, :]


class Eigenmode(Check):
    """Every point is known at any size, and each PE checks its own."""

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
