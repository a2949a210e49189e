"""The same sweeps on one PE, for the speedup and for ``--verify serial``."""

import time
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np
from mpi4py import MPI

import pennympi

from ..program.device import free_bytes
from ..program.outcome import Outcome
from .chunks import Chunks
from .problem import Problem
from .solver import OnNorm, Solver
from .variants import TABLE, heap_bytes, make_solver, two_fields_bytes

HOST_SWEEPS = 50  # the most sweeps that a CPU does for their time


def fits(team: Any, problem: Problem) -> bool:
    """True if three fields, and on a CPU two copies of the result, fit on this PE, with a tenth of its memory free."""
    return (5 if team.backend == "host" else 3) * problem.field_bytes < 0.9 * free_bytes(team)


def reserve(team: Any, problem: Problem) -> bool:
    """True if the solve ``fits`` on all PEs.  Enlarges the heap of GPUs, which only all PEs can do.  Collective."""
    if not all(team.gather(fits(team, problem))):
        return False
    if team.backend == "cuda":
        try:
            team.free(team.empty(two_fields_bytes(problem, 1), "uint8"))
        except pennympi.SymmetricHeapExhausted:
            return False
    return True


class Alone(NamedTuple):
    """A solve on one PE.  field: (ny - 2, nx)"""

    outcome: Outcome
    seconds: float
    field: np.ndarray
    variant: str


def solve(
    team: Any,
    problem: Problem,
    show: bool = False,
    on_norm: OnNorm | None = None,
    initial: np.ndarray | None = None,
    variant: str = "single",
) -> Alone:
    """A solve on this PE, after ``reserve``, by the variant if it is a ``Chunks`` and can run, else by ``single``."""
    with pennympi.init(MPI.COMM_SELF, backend=team.backend, heap_bytes=heap_bytes(problem, 1)) as alone:
        solver, variant = _solver(alone, problem, variant)
        solver.warm_up(show)
        solver.reset(initial)
        start = time.perf_counter()
        outcome = solver.run(show, on_norm)
        seconds, field = time.perf_counter() - start, solver.fields.own().copy()
        solver.free()
    return Alone(outcome, seconds, field, variant)


def _solver(alone: Any, problem: Problem, variant: str) -> tuple[Solver, str]:
    """The solver, and its variant's name: a grid on one PE may be too large for the resident engine."""
    if issubclass(TABLE[variant].Variant, Chunks):  # type: ignore[attr-defined]
        with suppress(ValueError):
            return make_solver(alone, problem, variant), variant
    return make_solver(alone, problem, "single"), "single"
