"""Comparison of the field's bits, and of the norms, with plain loops or with one PE."""

from dataclasses import replace
from typing import Any

import numpy as np

from ...program.outcome import Outcome
from ...program.run_on_pe0 import run_on_pe0
from .. import serial
from ..problem import Problem
from .verdict import Verdict, compare_norms

sentence = "every point, bit for bit, with the same sweeps on one PE, and the norms"

TOO_LARGE = "two whole fields do not fit on one PE: take --verify analytic"
REFERENCE_UPDATES = 4e9  # number of point updates that plain loops do in some seconds


def why_not(team: Any, problem: Problem) -> str:
    fits = _by_loops(problem, problem.niter) or serial.fits(team, problem)
    return "" if fits else TOO_LARGE


def judge(solver: Any, outcome: Outcome) -> Verdict:
    """Compare with plain loops if they take at most some seconds, else with one PE (``../serial.py``)."""
    team, problem, n = solver.team, solver.problem, outcome.iterations
    verdict, by_loops = None, _by_loops(problem, n)
    if not by_loops and not serial.reserve(team, problem):
        return Verdict(False, TOO_LARGE)

    def known() -> tuple[str, np.ndarray, Verdict]:
        """(name of the reference, its points that are not fixed, verdict on the norms)."""
        if by_loops:
            from . import reference  # imports Numba, which most runs do not need on the host

            field, norms = reference.solve(problem, n)
            return "plain loops", field[1:-1, 1:-1], compare_norms(problem, outcome.history, norms)
        alone = serial.solve(team, replace(problem, niter=n, tol=-1.0))
        want = dict(alone.outcome.history)
        wrong = sum(norm != want.get(iteration, norm) for iteration, norm in outcome.history)
        return (
            "one PE alone",
            alone.field[:, 1:-1],
            Verdict(wrong == 0, f"{wrong} of {len(outcome.history)} norms differ"),
        )

    expected = run_on_pe0(team.comm, known)
    field = solver.fields.grid.gather(solver.fields.old)
    if expected:
        reference_name, right, norms = expected
        differ = int((field.view(f"u{field.itemsize}") != np.ascontiguousarray(right).view(f"u{field.itemsize}")).sum())
        worst = max(float(np.abs(a.astype("f8") - b).max()) for a, b in zip(field, right, strict=True))
        line = f"{differ} points differ from {reference_name} (largest difference {worst:.3g}); {norms.line}"
        verdict = Verdict(differ == 0 and norms.passed, line)
    return team.comm.bcast(verdict)  # type: ignore[no-any-return]


def _by_loops(problem: Problem, iterations: int) -> bool:
    return problem.nx * problem.ny * iterations <= REFERENCE_UPDATES
