"""When the norm is looked at, what it decides, and with which status the program ends."""

import math
from dataclasses import dataclass, field

SHOW_EVERY = 100  # NVIDIA's sample prints the norm this often

# Exit statuses.  To end without convergence is 0, as in NVIDIA's sample, unless --must-converge is given.
DONE, FAILED, BAD_ARGUMENTS, DIVERGED, NOT_CONVERGED, INTERRUPTED = range(6)
STATUSES = {
    DONE: "converged, or all iterations done",
    FAILED: "verification failed, or a result could not be written",
    BAD_ARGUMENTS: "bad arguments",
    DIVERGED: "diverged (NaN, infinity, or far too large)",
    NOT_CONVERGED: "all iterations done without convergence, under --must-converge",
    INTERRUPTED: "interrupted by SIGTERM, a checkpoint is written",
}


@dataclass
class Outcome:
    """How far a solve has come, and how it ended.

    iterations: sweeps done, those before a restart included
    reason:     "iterations" (all that were asked for, so far), "converged", "diverged" or "interrupted"
    history:    (iteration, norm) of every checked iteration
    """

    iterations: int = 0
    reason: str = "iterations"
    history: list[tuple[int, float]] = field(default_factory=list)

    def add(self, iteration: int, norm: float, tol: float) -> bool:
        """Note a norm; True when the solve ends with this iteration."""
        self.history.append((iteration, norm))
        if norm > tol:
            return False
        self.reason = "diverged" if math.isnan(norm) else "converged"
        self.iterations = iteration + 1
        return True

    def status(self, must_converge: bool) -> int:
        """The exit status of a solve that ended like this."""
        if self.reason == "iterations":
            return NOT_CONVERGED if must_converge else DONE
        return {"converged": DONE, "diverged": DIVERGED, "interrupted": INTERRUPTED}[self.reason]


def checked(iteration: int, nccheck: int, show: bool) -> bool:
    """Whether the norm of this iteration is computed."""
    return iteration % nccheck == 0 or (show and iteration % SHOW_EVERY == 0)
