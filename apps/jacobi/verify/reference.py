"""The same sweeps in NumPy: slow and short, with the bits that the kernels compute."""

import math

import numpy as np

from ..problem import Problem, initial_field


def step(old: np.ndarray, new: np.ndarray) -> float:
    """new (ny, nx) = one sweep of old (ny, nx).  Returns the norm of the change."""
    quarter = old.dtype.type(0.25)
    relaxed = quarter * (((old[1:-1, 2:] + old[1:-1, :-2]) + old[2:, 1:-1]) + old[:-2, 1:-1])
    change = (relaxed - old[1:-1, 1:-1]).astype(np.float64)
    new[1:-1, 1:-1] = relaxed
    new[0], new[-1] = new[-2], new[1]
    return math.sqrt(float((change * change).sum()))


def solve(problem: Problem, iterations: int, initial: np.ndarray | None = None) -> tuple[np.ndarray, list[float]]:
    """The field (ny, nx) after the iterations, and the norm of each."""
    if initial is None:
        initial = initial_field(problem.ny, problem.nx, problem.bc, problem.dtype)
    old, new = initial.copy(), initial.copy()
    norms = []
    for _ in range(iterations):
        norms.append(step(old, new))
        old, new = new, old
    return old, norms
