"""The same sweeps on one PE alone: what speedup refers to, and what ``--verify serial`` compares with."""

import time
from typing import Any

import numpy as np
from mpi4py import MPI

import pennympi

from ..program.device import free_bytes
from ..program.outcome import Outcome
from .problem import Problem
from .solver import OnNorm
from .variants import heap_bytes, make_solver, two_fields_bytes

HOST_SWEEPS = 50  # that a CPU does at most to time them


def fits(team: Any, problem: Problem) -> bool:
    """Whether both fields, and on a CPU two copies of the result, fit on this PE, with a tenth of its memory to spare."""
    return (4 if team.backend == "host" else 2) * problem.field_bytes < 0.9 * free_bytes(team)


def reserve(team: Any, problem: Problem) -> bool:
    """Whether the solve ``fits`` on all PEs.  Makes the heap of GPUs as large, which only all PEs can do.  Collective."""
    if not all(team.gather(fits(team, problem))):
        return False
    if team.backend == "cuda":
        try:
            team.free(team.empty(two_fields_bytes(problem, 1), "uint8"))
        except pennympi.SymmetricHeapExhausted:
            return False
    return True


def solve(
    team: Any, problem: Problem, show: bool = False, on_norm: OnNorm | None = None, initial: np.ndarray | None = None
) -> tuple[Outcome, float, np.ndarray]:
    """(outcome, seconds, the field (ny - 2, nx)) of the variant ``single`` on this PE, after ``reserve``.

    Nothing is collective.
    """
    with pennympi.init(MPI.COMM_SELF, backend=team.backend, heap_bytes=heap_bytes(problem, 1)) as alone:
        solver = make_solver(alone, problem, "single")
        solver.warm_up()
        solver.reset(initial)
        start = time.perf_counter()
        outcome = solver.run(show, on_norm)
        seconds, field = time.perf_counter() - start, solver.fields.own().copy()
        solver.free()
    return outcome, seconds, field
