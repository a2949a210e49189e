"""--verify: the field against NumPy bit for bit, the norms against the residual oracle."""

from typing import Any

import numpy as np

from . import oracles, reference
from .outcome import Outcome
from .problem import Problem

REFERENCE_UPDATES = 4e9  # point updates that NumPy does in about ten seconds
TOLERANCE = {"float32": 1e-5, "float64": 1e-8}


class FieldCheck:
    """Compares rows, as they come in, with the NumPy reference."""

    def __init__(self, problem: Problem, iterations: int):
        self.possible = problem.nx * problem.ny * iterations <= REFERENCE_UPDATES
        self.differ, self.worst = 0, 0.0
        if self.possible:
            self._expected, _ = reference.solve(problem, iterations)

    def __call__(self, first: int, rows: np.ndarray) -> None:
        """rows (n, nx), the first of which is global row ``first``."""
        if not self.possible:
            return
        expected = self._expected[first : first + len(rows)]
        unsigned = f"u{rows.itemsize}"
        self.differ += int((rows.view(unsigned) != expected.view(unsigned)).sum())
        self.worst = max(self.worst, float(np.abs(rows.astype("f8") - expected).max()))


def norm_error(problem: Problem, history: list[tuple[int, float]]) -> tuple[float, bool]:
    """(largest relative error of the norms, whether all are within tolerance).

    The rounding of each point adds to the norm in quadrature: eps * sqrt(points) at most.
    """
    if not history:
        return 0.0, True
    tolerance = TOLERANCE[problem.dtype]
    expected = oracles.residuals(problem, history[-1][0] + 1, tolerance / 100)
    want = np.array([expected[iteration] for iteration, _ in history])
    got = np.array([norm for _, norm in history])
    noise = np.finfo(problem.dtype).eps ** 2 * problem.nx * problem.ny
    good = np.abs(got**2 - want**2) <= 2.0 * tolerance * want**2 + noise
    return float((np.abs(got - want) / np.maximum(want, 1e-300)).max()), bool(good.all())


def verdict(problem: Problem, outcome: Outcome, field: FieldCheck) -> tuple[bool, dict[str, Any], list[str]]:
    """(passed, numbers, lines to print)."""
    error, norms_good = norm_error(problem, outcome.history)
    passed = norms_good and field.differ == 0
    numbers: dict[str, Any] = {"passed": passed, "norm_relative_error": error}
    if field.possible:
        numbers |= {"points_that_differ": field.differ, "largest_difference": field.worst}
        first = f"{field.differ} points differ from the NumPy reference (largest difference {field.worst:.3g})"
    else:
        first = "the grid is too large for the NumPy reference"
    second = f"norms within {error:.2e} of the residual oracle (tolerance {TOLERANCE[problem.dtype]:.0e} and rounding)"
    return passed, numbers, [f"{'PASS' if passed else 'FAIL'}: {first}; {second}"]
