"""The bits of the field against those of one PE alone, and the norms against its norms."""

from typing import Any

import numpy as np

from ...program.outcome import Outcome
from ...program.run_on_pe0 import run_on_pe0
from .. import serial
from ..grid.problem import Problem
from ..storage import gathered
from . import reference
from .verdict import Verdict, compare_norms

sentence = "every point, bit for bit, with the same sweeps on one PE, and the norms"

REFERENCE_UPDATES = 4e9  # the point updates that NumPy does in about ten seconds


def refuse(team: Any, problem: Problem) -> str:
    if _by_numpy(problem, problem.niter) or serial.fits(team, problem):
        return ""
    return "two whole fields do not fit on one PE: take --verify analytic"


def judge(solver: Any, outcome: Outcome) -> Verdict:
    """Compares with NumPy where that takes some seconds at most, else with one PE (``../serial.py``)."""
    team, problem, n = solver.team, solver.problem, outcome.iterations
    verdict = None

    def known() -> tuple[str, np.ndarray, Verdict]:
        if _by_numpy(problem, n):
            field, norms = reference.solve(problem, n)
            return "NumPy", field, compare_norms(problem, outcome.history, norms)
        alone, _, field = serial.Alone(team, problem).solve(n)
        want = dict(alone.history)
        wrong = sum(norm != want.get(iteration, norm) for iteration, norm in outcome.history)
        return "one PE alone", field, Verdict(wrong == 0, f"{wrong} of {len(outcome.history)} norms differ")

    expected = run_on_pe0(team.comm, known)
    differ, worst = 0, 0.0
    for first, rows in gathered(solver):
        assert expected is not None
        right = expected[1][first : first + len(rows)]
        differ += int((rows.view(f"u{rows.itemsize}") != right.view(f"u{rows.itemsize}")).sum())
        worst = max(worst, float(np.abs(rows.astype("f8") - right).max()))
    if expected:
        who, _, norms = expected
        line = f"{differ} points differ from {who} (largest difference {worst:.3g}); {norms.line}"
        verdict = Verdict(differ == 0 and norms.passed, line)
    verdict = team.comm.bcast(verdict)
    assert verdict is not None
    return verdict


def _by_numpy(problem: Problem, iterations: int) -> bool:
    return problem.nx * problem.ny * iterations <= REFERENCE_UPDATES
