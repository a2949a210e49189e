"""The same solve on one PE alone, to whose time speedup and efficiency refer."""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...program.device import free_bytes
from ...program.outcome import Outcome
from ..grid.problem import Problem
from ..solver import Solver
from ..variants import row_of
from ..variants.memory import field_bytes
from .one_pe_team import OnePeTeam

HOST_SWEEPS = 50  # timed on a CPU; their time is scaled up to all sweeps
NEVER = 2**31 - 1  # as ``nccheck``


@dataclass(frozen=True)
class SerialTime:
    """The time of ``of`` sweeps, scaled up from ``measured`` sweeps.  history: (iteration, norm) of each norm"""

    variant: str
    runtime_s: float
    measured: int
    of: int
    history: list[tuple[int, float]]


class Serial:
    """A solve on one PE, by the variant "single"; by "blocked" where a blocked solve is to be compared."""

    def __init__(self, team: Any, problem: Problem, variant: str = "single", **settings: Any):
        self.team, self.problem, self._settings = team, problem, settings
        self._variant = variant if variant == "blocked" else "single"

    def kernels(self, show: bool) -> list[Any]:
        """The kernels of ``time``, for ``team.compile``.  Not collective."""
        problem, alone = replace(self.problem, niter=self.sweeps()), OnePeTeam(self.team)
        return row_of(problem, self._variant).make.kernels(alone, problem, show, **self._settings)

    def fits(self) -> bool:
        """Whether the whole fields fit on this PE, with a tenth of its free memory to spare."""
        result_bytes = self.problem.field_bytes if self.team.backend == "host" else 0  # which the host holds
        return field_bytes(self.problem, 1, self._variant) + result_bytes < 0.9 * free_bytes(self.team)

    def run(
        self,
        niter: int,
        show: bool = False,
        on_norm: Callable[[int, float], None] | None = None,
        initial: np.ndarray | None = None,
        stops: bool = True,
    ) -> tuple[Outcome, float, np.ndarray]:
        """(outcome, seconds, the field (ny, nx)).  Not collective.  stops: whether a small norm ends the solve"""
        problem = replace(self.problem, niter=niter)
        if not stops:
            problem = replace(problem, tol=-1.0, nccheck=NEVER)
        settings = self._settings if self._variant == "blocked" else {}
        solver = Solver(OnePeTeam(self.team), problem, self._variant, **settings)
        solver.warm_up(show)
        solver.reset(initial)
        start = time.perf_counter()
        outcome = solver.run(show, on_norm)
        seconds = time.perf_counter() - start
        field = np.empty((problem.ny, problem.nx), problem.dtype)
        field[1:-1] = solver.rows(0, problem.ny - 2)
        field[0], field[-1] = field[-2], field[1]
        return outcome, seconds, field

    def time(self, show: bool, on_norm: Callable[[int, float], None] | None = None) -> SerialTime:
        """The time of all niter sweeps, or of those until convergence, on this PE."""
        sweeps = self.sweeps()
        outcome, seconds, _ = self.run(sweeps, show, on_norm)
        per_sweep_s = seconds / max(outcome.iterations, 1)
        of = outcome.iterations if outcome.reason != "iterations" else self.problem.niter
        return SerialTime(
            row_of(self.problem, self._variant).name, per_sweep_s * of, outcome.iterations, of, outcome.history
        )

    def sweeps(self) -> int:
        """The largest number of sweeps that ``time`` runs: all of them on a GPU, some of them on a CPU."""
        return self.problem.niter if self.team.backend == "cuda" else min(self.problem.niter, HOST_SWEEPS)
