"""What the variants have in common: the fields, and how a solve ends."""

from collections.abc import Callable
from typing import Any

import numpy as np

from ..program.nvtx import named_range
from ..program.outcome import Outcome
from .fields import Fields
from .problem import Problem

OnNorm = Callable[[int, float], None]


class Solver:
    """One PE's part of a solve.  Making one is collective.

    alone: this PE solves all of the problem in ordinary memory, and nothing is collective
    """

    takes: tuple[str, ...] = ()  # names of the variant's own settings
    how = ""  # what the library chose, for the report

    def __init__(self, team: Any, problem: Problem, depth: int = 1, alone: bool = False):
        self.team, self.problem, self.stream = team, problem, team.stream()
        self.fields = Fields(team, problem, depth, alone)

    @classmethod
    def refuse(cls, team: Any) -> str:
        """Why the variant cannot run on this team; "" if it can."""
        return ""

    def reset(self, initial: np.ndarray | None = None) -> None:
        """Start from a global field (ny, nx) whose rows form a ring, or from zeros and the boundary.  Collective."""
        self.fields.reset(initial)

    def run(
        self, show: bool = False, on_norm: OnNorm | None = None, outcome: Outcome | None = None, stop: int | None = None
    ) -> Outcome:
        """Sweep from ``outcome`` (None: the start) to iteration ``stop`` (None: niter) or convergence.  Collective.

        show:    compute the norms that are printed, too (``schedule.checked``)
        on_norm: called with (iteration, norm) of every norm
        Returns ``outcome``, updated.  Raises PeerTimeout.
        """
        outcome, stop = outcome or Outcome(), self.problem.niter if stop is None else stop

        def ends(iteration: int, norm: float) -> bool:
            if on_norm:
                on_norm(iteration, norm)
            return outcome.add(iteration, norm, self.problem.tol)

        with named_range(self.team, "Jacobi solve"):
            if not self.sweeps(outcome.iterations, stop, show, ends):
                outcome.iterations = stop
            self.finish()
        return outcome

    def sweeps(self, done: int, stop: int, show: bool, ends: Callable[[int, float], bool]) -> bool:
        """Sweep on from iteration ``done``.  ends(iteration, norm): whether this norm ends the solve.

        Returns whether one did; then the present field is that after its sweep.
        """
        raise NotImplementedError

    def finish(self) -> None:
        """Wait until everything that was enqueued has run."""
        self.team.synchronize(self.stream)

    def warm_up(self, show: bool = False) -> None:
        """Do all that ``run`` does once, to compile and load everything.  Overwrites the field.  Collective."""
        raise NotImplementedError

    def free(self) -> None:
        """Free all symmetric memory.  Collective."""
        self.fields.free()
