"""When the norm is looked at, and what it decides."""

import math
from dataclasses import dataclass, field

SHOW_EVERY = 100  # NVIDIA's sample prints the norm this often


@dataclass
class Outcome:
    """How a solve ended.

    reason:  "converged", "iterations" (all that were asked for) or "diverged"
    history: (iteration, norm) of every checked iteration
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


def checked(iteration: int, nccheck: int, show: bool) -> bool:
    """Whether the norm of this iteration is computed."""
    return iteration % nccheck == 0 or (show and iteration % SHOW_EVERY == 0)
