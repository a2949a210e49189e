"""A solve, by one of the variants: iterations until the residual is small enough."""

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from mpi4py import MPI

from .loop import Loop
from .problem import Problem

TABLE = {"loop": Loop}


@dataclass
class Outcome:
    """How far a solve has come.

    reason:  "iterations" (no other reason so far), "converged" or "diverged"
    history: of every iteration, the norm of the residual over that of f
    """

    reason: str = "iterations"
    history: list[float] = field(default_factory=list)

    @property
    def iterations(self) -> int:
        """How many are done."""
        return len(self.history)


class Solver:
    """Solves a problem on a team by a variant.  All methods are collective.

    unit: the kernels' u times this is u.  They solve for a right-hand side whose largest value is between 1/2 and 1, so
          that the exact sums, which have fixed places, lose nothing; the factor is a power of two, hence exact
    Raises ValueError where the variant can't run.
    """

    def __init__(self, team: Any, problem: Problem, variant: str = "loop"):
        reason = TABLE[variant].why_not(team)
        if reason:
            raise ValueError(f"the variant {variant} cannot run here: {reason}")
        self.team, self.problem, self.variant = team, problem, variant
        self.steps = TABLE[variant](team, problem)
        self.grid, self.fields = self.steps.grid, self.steps.fields
        self.unit, self.norm_of_f = 1.0, 0.0

    def set_f(self, own: np.ndarray) -> None:
        """Set the right-hand side, this PE's own points of f, and u to 0.  own: broadcast to ``grid.own``, in float64"""
        scaled = np.broadcast_to(np.asarray(own, np.float64), self.grid.own) * self.problem.scale
        largest = self.team.comm.allreduce(float(np.abs(scaled).max(initial=0.0)), op=MPI.MAX)
        self.unit = 2.0 ** math.frexp(largest)[1] if 0.0 < largest < math.inf else 1.0
        self.fields.set("f", scaled / self.unit)
        if self.problem.singular:
            self.fields.set("f", scaled / self.unit - self._mean("f"))
        for name, array in self.fields.arrays.items():
            if name != "f":
                array[...] = 0
        self.team.synchronize()
        self.norm_of_f = math.sqrt(self.steps.product("f", "f"))

    def _mean(self, name: str) -> float:
        """The mean of a field: the same bits on any number of PEs."""
        self.fields.set("r", np.ones(self.grid.own))
        self.team.synchronize()
        return self.steps.product(name, "r") / self.problem.points

    def run(self) -> Outcome:
        """Iterate from u on until the residual is small enough, or ``niter`` iterations are done.

        The host asks nothing in between, but where the residual is computed anew.
        """
        problem, steps, outcome = self.problem, self.steps, Outcome()
        unit = self.norm_of_f or 1.0
        below = (problem.tol * unit) ** 2
        steps.start()
        while outcome.iterations < problem.niter and outcome.reason == "iterations":
            done = outcome.iterations
            if done:
                steps.replace(done)
            steps.iterate(min(steps.sums.period, problem.niter - done), below)
            sums = steps.sums.read(done + 1, steps.done() + 1)
            outcome.history += (np.sqrt(sums) / unit).tolist()
            if not math.isfinite(sums[-1]):
                outcome.reason = "diverged"
            elif sums[-1] <= below:
                outcome.reason = "converged"
        return outcome

    def residual(self) -> float:
        """The norm of f - A u over that of f, computed anew."""
        self.steps.start()
        self.steps.done()
        return math.sqrt(self.steps.sums.read(0, 1)[0]) / (self.norm_of_f or 1.0)

    def u(self) -> np.ndarray:
        """This PE's own points of the solution, float64 (own); where a constant can be added to it, its mean is 0."""
        self.team.synchronize(self.steps.stream)
        own = self.fields.own("u").astype(np.float64)
        if self.problem.singular:
            own = own - self._mean("u")
        return own * self.unit

    def free(self) -> None:
        """Free all symmetric memory."""
        self.steps.free()
