"""The exact field for the boundary "periodic".  That boundary is one wave of the ring, so the field after any number of
sweeps is that wave times a shape along x, and so is its limit.
"""

import math

import numpy as np

from ..problem import Problem


def along_x(problem: Problem, sweeps: int) -> tuple[np.ndarray, np.ndarray]:
    """(shape along x (nx,) after the sweeps, norm of each sweep (sweeps,)) in float64, in O(nx) a sweep."""
    u, norms = np.zeros(problem.nx), np.empty(sweeps)
    u[0] = u[-1] = 1.0
    # (1 - cosine) / 2 of the angle from row to row.  The cosine is near 1, and its rounding would grow by the square of
    # the number of rows.
    short = math.sin(math.pi / (problem.ny - 2)) ** 2
    wave = math.sqrt((problem.ny - 2) / 2.0)  # the norm of the wave over the ring
    for k in range(sweeps):
        inner = u[1:-1]
        change = 0.25 * ((u[2:] - inner) + (u[:-2] - inner)) - short * inner
        norms[k] = wave * math.sqrt(float(change @ change))
        u[1:-1] += change
    return u, norms


def steady_along_x(problem: Problem) -> np.ndarray:
    """The limit of the shape, (nx,) float64."""
    k = 2.0 * math.asinh(math.sin(math.pi / (problem.ny - 2)))
    middle = (problem.nx - 1) / 2.0
    distance = np.abs(np.arange(problem.nx) - middle)
    # cosh(k d) / cosh(k m) by decaying exponentials, because either cosh may overflow
    return np.exp(k * (distance - middle)) * (1.0 + np.exp(-2.0 * k * distance)) / (1.0 + math.exp(-2.0 * k * middle))
