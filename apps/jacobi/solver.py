"""The time loop, the same for every variant."""

from collections.abc import Callable
from typing import Any

import numpy as np

from ..program.nvtx import named_range
from ..program.outcome import Outcome
from .grid.problem import Problem
from .grid.slab import Slab
from .sweep.schedule import kinds_of_steps, next_step
from .variants import DEFAULT, TABLE


class Solver:
    """One PE's part of a solve by a variant of ``variants/``.  Making one is collective.

    settings: the variant's own settings, see the table; a setting that is None is left out
    Raises ValueError if the variant is not in the table, cannot run this problem on this team, or has no such setting.
    """

    def __init__(self, team: Any, problem: Problem, variant: str = DEFAULT, **settings: Any):
        if variant not in TABLE:
            raise ValueError(f"there is no variant {variant!r}: choose one of {', '.join(TABLE)}")
        row = TABLE[variant]
        reason = row.refuse(team, problem)
        if reason:
            raise ValueError(f"the variant {variant} cannot run here: {reason}")
        settings = {name: value for name, value in settings.items() if value is not None}
        strange = ", ".join(set(settings) - set(row.takes))
        if strange:
            raise ValueError(f"the variant {row.name} has no setting {strange}")
        self.team, self.problem = team, problem
        self.steps = row.make(team, problem, **settings)
        team.synchronize()  # until its arrays are set

    @property
    def slab(self) -> Slab:
        """The rows that this PE owns."""
        return self.steps.fields.slab

    def rows(self, start: int, stop: int) -> np.ndarray:
        """Rows start..stop of this PE's slab (0-based) in the present field, as NumPy (stop - start, nx)."""
        return self.steps.fields.rows(start, stop)

    def reset(self, initial: Any = None) -> None:
        """Start from a global field (ny, nx) whose rows form a ring, or from zeros and the boundary.  Collective."""
        self.steps.fields.reset(initial)

    def run(
        self,
        show: bool = False,
        on_norm: Callable[[int, float], None] | None = None,
        outcome: Outcome | None = None,
        stop: int | None = None,
    ) -> Outcome:
        """Sweep from ``outcome`` (None: the start) to iteration ``stop`` (None: niter) or convergence.  Collective.

        show:    compute the norms that are printed, too (``schedule.checked``)
        on_norm: called with (iteration, norm) of every norm
        The norms of a step are read while later steps run.  If one of them ends the solve, the variant rolls back.
        Returns ``outcome``, updated.  Raises PeerTimeout.
        """
        outcome, stop = outcome or Outcome(), self.problem.niter if stop is None else stop
        with named_range(self.team, "Jacobi solve"):
            self._sweep(show, on_norm, outcome, stop)
            self.steps.finish()
        return outcome

    def _sweep(self, show: bool, on_norm: Callable[[int, float], None] | None, outcome: Outcome, stop: int) -> None:
        steps, done, number = self.steps, outcome.iterations, 0
        pending: list[tuple[int, int, list[int]]] = []  # of each step: (number, first iteration, checked iterations)
        while done < stop or pending:
            if done < stop:
                due = next_step(self.problem, done, stop, show, steps.max_sweeps, steps.fit)
                steps.step(due)
                number += 1
                if any(due):
                    pending.append((number, done, [done + k for k, wanted in enumerate(due) if wanted]))
                done += len(due)
            while pending and (done == stop or number - pending[0][0] >= steps.pipeline_depth):
                of, first, iterations = pending.pop(0)
                for iteration, norm in zip(iterations, steps.norms(), strict=True):
                    if on_norm:
                        on_norm(iteration, norm)
                    if outcome.add(iteration, norm, self.problem.tol):
                        steps.rollback(iteration - first + 1, number - of)
                        return
        outcome.iterations = stop

    def warm_up(self, show: bool = False) -> None:
        """Do every kind of step of ``run`` once, so that all kernels are compiled and loaded.  Collective.

        It overwrites the field.
        """
        for due in kinds_of_steps(self.problem, show, self.steps.max_sweeps, self.steps.fit):
            self.steps.rehearse(due)
        self.steps.finish()
        self.team.comm.Barrier()

    def free(self) -> None:
        """Free the fields.  Collective."""
        self.steps.free()
