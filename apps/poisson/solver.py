"""A solve, by one of the variants: iterations until the residual is small enough."""

import math
from typing import Any, NamedTuple

import numpy as np
from mpi4py import MPI

from ..program.device import to_numpy
from .loop import Loop
from .on_chip import OnChip
from .problem import Problem

TABLE = {"loop": Loop, "on_chip": OnChip}
METHODS = {  # each variant says in ``methods`` which it has
    "cg": "two sums an iteration, one after the other (Hestenes and Stiefel 1952)",
    "one_sum": "both at once (Chronopoulos and Gear 1989)",
    "pipelined": "both at once, while A is applied (Ghysels and Vanroose 2014)",
}


def why_not(variant: str, team: Any, problem: Problem) -> str:
    """Why the variant can't solve this here, the same on all PEs; "" if it can.  Collective."""
    if problem.method not in TABLE[variant].methods:
        return f"it has no method {problem.method}, but {', '.join(TABLE[variant].methods)}"
    return TABLE[variant].why_not(team, problem)


class Outcome(NamedTuple):
    """How a solve ended: "converged", "diverged" or "iterations"; the norm of r over that of f after each iteration."""

    reason: str
    history: list[float]


class Solver:
    """Solves a problem on a team by a variant.  All methods are collective.

    unit: the kernels' u times this is u.  They solve for a right-hand side whose largest value is between 1/2 and 1, so
          that the exact sums, which have fixed places, lose nothing; the factor is a power of two, hence exact
    Raises ValueError where the variant can't run.
    """

    def __init__(self, team: Any, problem: Problem, variant: str = "loop"):
        if reason := why_not(variant, team, problem):
            raise ValueError(f"the variant {variant} cannot run here: {reason}")
        self.team, self.problem, self.variant = team, problem, variant
        self.steps = TABLE[variant](team, problem)
        self.grid, self.fields = self.steps.grid, self.steps.fields
        self.free, self.unit, self.norm_of_f = self.steps.free, 1.0, 1.0

    def set_f(self, own: np.ndarray) -> None:
        """Set the right-hand side, this PE's own points of f, and u to 0.  own: broadcast to ``grid.own``, in float64"""
        scaled = np.broadcast_to(np.asarray(own, np.float64), self.grid.own) * self.problem.scale
        largest = self.team.comm.allreduce(float(np.abs(scaled).max(initial=0.0)), op=MPI.MAX)
        self.unit = 2.0 ** math.frexp(largest)[1] if 0.0 < largest < math.inf else 1.0
        self.fields.set("f", scaled / self.unit)
        if self.problem.singular:
            self.fields.set("f", scaled / self.unit - self._mean("f"))
        for name, array in self.fields.items():
            if name != "f":
                array[...] = 0
        self.team.synchronize()
        self.norm_of_f = math.sqrt(self.steps.product("f", "f")) or 1.0

    def _mean(self, name: str) -> float:
        """The mean of a field: the same bits on any number of PEs."""
        self.fields.set("r", np.ones(self.grid.own))
        self.team.synchronize()
        return float(self.steps.product(name, "r")) / self.problem.points

    def run(self) -> Outcome:
        """Iterate from u on until the residual is small enough, or ``niter`` iterations are done.

        The host asks nothing in between, but where the residual is computed anew.
        """
        problem, steps, history = self.problem, self.steps, list[float]()
        below = (problem.tol * self.norm_of_f) ** 2
        steps.start()
        while (done := len(history)) < problem.niter:
            if done:
                steps.replace(done)
            steps.iterate(min(steps.sums.period, problem.niter - done), below)
            sums = steps.sums.read(done + 1, steps.done() + 1)
            history += (np.sqrt(sums) / self.norm_of_f).tolist()
            if not sums[-1] > below or math.isinf(sums[-1]):
                return Outcome("converged" if sums[-1] <= below else "diverged", history)
        return Outcome("iterations", history)

    def residual(self) -> float:
        """The norm of f - A u over that of f, computed anew."""
        self.steps.start()
        self.steps.done()
        return math.sqrt(self.steps.sums.read(0, 1)[0]) / self.norm_of_f

    def u(self) -> np.ndarray:
        """This PE's own points of the solution, float64 (own); where a constant can be added to it, its mean is 0."""
        self.team.synchronize(self.steps.stream)
        own = to_numpy(self.grid.interior(self.fields["u"])).astype(np.float64)
        return (own - self._mean("u") if self.problem.singular else own) * self.unit
