"""The norms against an oracle that needs no grid."""

import math
from typing import Any

import numpy as np

from ....program.outcome import Outcome
from ....program.run_on_pe0 import run_on_pe0
from ...grid.problem import Problem
from .. import oracles
from .check import Check, Verdict

TOLERANCE = {"float32": 1e-5, "float64": 1e-8}
# The norm that rounding alone makes, in eps * sqrt(points).  Measured: 1.4 and 3.4.
NOISE = {"jacobi": 2.0, "chebyshev": 8.0}


def norm_error(problem: Problem, history: list[tuple[int, float]]) -> tuple[float, bool]:
    """(largest relative error of the norms, whether all errors are within the tolerance and rounding)."""
    if not history:
        return 0.0, True
    tolerance = TOLERANCE[problem.dtype]
    expected = oracles.residuals(problem, history[-1][0] + 1, tolerance / 100)
    want = np.array([expected[iteration] for iteration, _ in history])
    got = np.array([norm for _, norm in history])
    noise = NOISE[problem.method] * np.finfo(problem.dtype).eps * math.sqrt(problem.nx * problem.ny)
    good = np.abs(got - want) <= tolerance * want + noise
    return float((np.abs(got - want) / np.maximum(want, 1e-300)).max()), bool(good.all())


class Residual(Check):
    """Takes O(nx) time a sweep on one PE: a check for large grids."""

    sentence = "every norm with the exact one, which follows from the waves of the boundary"

    def judge(self, solver: Any, outcome: Outcome) -> Verdict:
        problem, comm = solver.problem, solver.team.comm
        error, passed = comm.bcast(run_on_pe0(comm, lambda: norm_error(problem, outcome.history)))
        tolerance = TOLERANCE[problem.dtype]
        line = f"{len(outcome.history)} norms within {error:.2e} of the oracle ({tolerance:.0e} and rounding allowed)"
        return Verdict(passed, line, {"norm_relative_error": error})
