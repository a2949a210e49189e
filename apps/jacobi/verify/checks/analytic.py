"""The field against formulas for the exact field after n sweeps, and for its limit."""

from typing import Any

import numpy as np

from ....program.outcome import Outcome
from ...grid.boundary import column
from ...grid.problem import Problem
from .. import oracles
from .check import Check, Verdict, largest_error


def tolerance(problem: Problem, sweeps: int) -> float:
    """The largest error that rounding explains.

    Jacobi's changes become smaller than a unit in the last place, and then stop: measured n / 180 eps at 30,000 sweeps.
    """
    eps, widest = float(np.finfo(problem.dtype).eps), max(problem.nx, problem.ny)
    if problem.method == "jacobi":
        return (16.0 + 0.05 * min(sweeps, widest * widest)) * eps
    return (16.0 + min(sweeps, widest)) * eps


class Analytic(Check):
    """With --bc periodic the boundary is one wave of the ring, and the field is that wave times a shape along x."""

    sentence = "every point with the exact field after that many sweeps, and with the steady state (--bc periodic)"

    def refuse(self, team: Any, problem: Problem) -> str:
        if problem.bc != "periodic":
            return f"no formula is known for --bc {problem.bc}: take --bc periodic"
        return ""

    def judge(self, solver: Any, outcome: Outcome) -> Verdict:
        problem, n = solver.problem, outcome.iterations
        wave = column(problem.ny, "periodic", "float64")
        shape, steady = oracles.shape_along_x(problem, n), oracles.steady_along_x(problem.nx, problem.ny)
        error = largest_error(solver, lambda rows: wave[rows][:, None] * shape[None, :])
        away = largest_error(solver, lambda rows: wave[rows][:, None] * steady[None, :])
        allowed, to_go = tolerance(problem, n), float(np.abs(shape - steady).max() * np.abs(wave).max())
        line = (
            f"every point within {error:.2e} of the exact field after {n} sweeps ({allowed:.1e} allowed), "
            f"and within {away:.2e} of the steady state ({to_go:.2e} by the formula)"
        )
        numbers = {"largest_error": error, "allowed": allowed, "from_steady_state": away, "by_formula": to_go}
        return Verdict(error <= allowed, line, numbers)
