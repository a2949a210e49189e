"""The same sweeps by plain loops, compiled for this CPU: short, with NumPy's bits, and independent of the solver."""

import math
from typing import Any

import numpy as np
from numba import njit

from ..problem import Problem, initial_field


@njit(fastmath={"reassoc", "nsz"})  # type: ignore[untyped-decorator]
def squares(old: Any, new: Any, y: int) -> float:
    """The sum of the squares of a row's changes, in any order."""
    total = 0.0
    for x in range(old.shape[1]):
        total += np.float64(new[y, x] - old[y, x]) ** 2
    return total


@njit  # type: ignore[untyped-decorator]
def step(old: Any, new: Any, quarter: Any) -> float:
    """new (ny, nx) = one sweep of old (ny, nx).  Returns the norm of the change."""
    total = 0.0
    for y in range(1, old.shape[0] - 1):
        for x in range(1, old.shape[1] - 1):
            new[y, x] = quarter * (((old[y, x + 1] + old[y, x - 1]) + old[y + 1, x]) + old[y - 1, x])
        total += squares(old, new, y)
    return math.sqrt(total)


def solve(problem: Problem, iterations: int, initial: np.ndarray | None = None) -> tuple[np.ndarray, list[float]]:
    """The field (ny, nx) after the iterations, and the norm of each."""
    old = initial_field(problem.ny, problem.nx, problem.bc, problem.dtype) if initial is None else initial.copy()
    new, norms = old.copy(), []
    for _ in range(iterations):
        norms.append(step(old, new, old.dtype.type(0.25)))
        new[0], new[-1] = new[-2], new[1]
        old, new = new, old
    return old, norms
