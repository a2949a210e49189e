"""The base class of checks, and their verdicts."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from mpi4py import MPI

from ....program.outcome import Outcome
from ...grid.problem import Problem

CHUNK_BYTES = 32 << 20


@dataclass(frozen=True)
class Verdict:
    """The result of a check.  line: for the report;  numbers: for --json"""

    passed: bool
    line: str
    numbers: dict[str, Any] = field(default_factory=dict)


class Check:
    """Base class of all checks.  sentence: what is compared with what, for --help"""

    sentence = ""

    def refuse(self, team: Any, problem: Problem) -> str:
        """Why this check cannot be made, or "".  It is asked on every PE before the run."""
        return ""

    def host_bytes(self, problem: Problem) -> int:
        """Memory of the host that the check takes on PE 0."""
        return 0

    def judge(self, solver: Any, outcome: Outcome) -> Verdict:
        """The verdict on a solve that has ended, the same on every PE.  Collective.  It may use the solver again."""
        raise NotImplementedError


def chunks(solver: Any) -> Iterator[tuple[int, np.ndarray]]:
    """(global number of the first row, rows (n, nx) as NumPy) for all rows of this PE."""
    step = max(1, CHUNK_BYTES // (solver.problem.nx * 8))
    for start in range(0, solver.slab.rows, step):
        yield solver.slab.first + start, solver.rows(start, min(start + step, solver.slab.rows))


def largest_error(solver: Any, expected: Callable[[np.ndarray], np.ndarray]) -> float:
    """The largest error over the points of all PEs; inf if a point is NaN or infinite.  Collective.

    expected: global row numbers (n,) -> rows (n, nx) float64
    """
    worst = 0.0
    for first, rows in chunks(solver):
        difference = np.abs(rows - expected(np.arange(first, first + len(rows))))
        worst = max(worst, float(difference.max()) if np.isfinite(difference).all() else np.inf)
    return float(solver.team.comm.allreduce(worst, op=MPI.MAX))
