"""The end of a solve, and the exit status of its program."""

import math
from dataclasses import dataclass, field

import numpy as np

# Exit statuses.  A solve without convergence ends with 0, as in NVIDIA's samples.
DONE, FAILED, BAD_ARGUMENTS, DIVERGED = range(4)
STATUSES = {
    DONE: "converged, or all iterations done",
    FAILED: "verification failed, or a file could not be read or written",
    BAD_ARGUMENTS: "bad arguments",
    DIVERGED: "diverged (NaN, infinity, or far too large)",
}


@dataclass
class Outcome:
    """The progress of a solve, and its end.

    iterations: number of iterations, with those before a restart
    reason:     "iterations" (no other reason so far), "converged" or "diverged"
    parts:      (iterations, their norms), in order, of the iterations whose norms were computed
    """

    iterations: int = 0
    reason: str = "iterations"
    parts: list[tuple[np.ndarray, np.ndarray]] = field(default_factory=list)

    @property
    def history(self) -> list[tuple[int, float]]:
        """(iteration, norm) of each iteration whose norm was computed.  The list is made at each use."""
        return [pair for part in self.parts for pair in zip(*(numbers.tolist() for numbers in part), strict=True)]

    def add(self, iterations: np.ndarray, norms: np.ndarray, tol: float) -> bool:
        """Add norms to the history, up to the first norm that ends the solve.  True if a norm ends it."""
        small = np.flatnonzero(~(norms > tol))
        n = int(small[0]) + 1 if len(small) else len(norms)
        if n:
            self.parts.append((iterations[:n], norms[:n]))
        if not len(small):
            return False
        self.reason = "diverged" if math.isnan(norms[n - 1]) else "converged"
        self.iterations = int(iterations[n - 1]) + 1
        return True

    def status(self) -> int:
        """The exit status of the program."""
        return DIVERGED if self.reason == "diverged" else DONE
