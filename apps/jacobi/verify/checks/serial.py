"""The bits of the field against those of one PE alone, and the norms against the oracle."""

from typing import Any

import numpy as np

from ....program.outcome import Outcome
from ....program.run_on_pe0 import run_on_pe0
from ...grid.problem import Problem
from ...storage.gather import gather
from ...timing.serial import Serial
from .. import reference
from .check import Check, Verdict
from .residual import Residual

REFERENCE_UPDATES = 4e9  # the point updates that NumPy does in about ten seconds
NUMPY_FIELDS, NUMPY_WIDE = 5, 2  # arrays of a grid that reference.solve holds at a time, in the dtype and in float64


class Comparison:
    """Compares rows, as they arrive, with the expected field (ny, nx).  differ: points;  worst: largest difference"""

    def __init__(self, expected: np.ndarray):
        self._expected, self.differ, self.worst = expected, 0, 0.0

    def __call__(self, first: int, rows: np.ndarray) -> None:
        """Compare rows (n, nx), the first of which is global row ``first``."""
        expected = self._expected[first : first + len(rows)]
        unsigned = f"u{rows.itemsize}"
        self.differ += int((rows.view(unsigned) != expected.view(unsigned)).sum())
        self.worst = max(self.worst, float(np.abs(rows.astype("f8") - expected).max()))


class SerialSolve(Check):
    """Compares with NumPy where that takes some seconds at most, else with one PE (``timing/serial.py``)."""

    sentence = "every point, bit for bit, with the same sweeps on one PE"

    def refuse(self, team: Any, problem: Problem) -> str:
        if _by_numpy(problem, problem.niter) or Serial(team, problem).fits():
            return ""
        return "two whole fields do not fit on one PE: take --verify residual, eigenmode or analytic"

    def host_bytes(self, problem: Problem) -> int:
        if _by_numpy(problem, problem.niter):
            return problem.nx * problem.ny * (NUMPY_FIELDS * problem.item_bytes + NUMPY_WIDE * 8)
        return problem.field_bytes

    def judge(self, solver: Any, outcome: Outcome) -> Verdict:
        team, problem = solver.team, solver.problem
        serial, n = Serial(team, problem), outcome.iterations
        numpy = _by_numpy(problem, n)
        who = "NumPy" if numpy else "one PE alone"
        expected = run_on_pe0(
            team.comm, lambda: reference.solve(problem, n)[0] if numpy else serial.run(n, stops=False)[2]
        )
        comparison = Comparison(expected) if expected is not None else None
        gather(solver, [comparison] if comparison else [])
        differ, worst = team.comm.bcast((comparison.differ, comparison.worst) if comparison else None)
        norms = Residual().judge(solver, outcome)
        line = f"{differ} points differ from {who} (largest difference {worst:.3g}); {norms.line}"
        numbers = {"points_that_differ": differ, "largest_difference": worst, **norms.numbers}
        return Verdict(differ == 0 and norms.passed, line, numbers)


def _by_numpy(problem: Problem, iterations: int) -> bool:
    return problem.nx * problem.ny * iterations <= REFERENCE_UPDATES
