"""The same sweeps on one PE alone: what speedup refers to, and what ``--verify serial`` compares with."""

import time
from typing import Any

import numpy as np

from ..program.device import free_bytes
from ..program.outcome import Outcome
from .problem import Problem
from .solver import OnNorm
from .variants import Single

HOST_SWEEPS = 50  # that a CPU does at most to time them


def fits(team: Any, problem: Problem) -> bool:
    """Whether both fields, and on a CPU two copies of the result, fit on this PE, with a tenth of its memory to spare."""
    return (4 if team.backend == "host" else 2) * problem.field_bytes < 0.9 * free_bytes(team)


def solve(
    team: Any, problem: Problem, show: bool = False, on_norm: OnNorm | None = None, initial: np.ndarray | None = None
) -> tuple[Outcome, float, np.ndarray]:
    """(outcome, seconds, the field (ny - 2, nx)) of the variant ``single`` on this PE.  Nothing is collective."""
    solver = Single(team, problem, alone=True)
    solver.warm_up()
    solver.reset(initial)
    start = time.perf_counter()
    outcome = solver.run(show, on_norm)
    return outcome, time.perf_counter() - start, solver.fields.own()
