"""A solution that is known: u = g(x) g(y) g(z), and f = -laplace(u), with what the solver's answer may differ by."""

import math
from typing import Any

import numpy as np

from .problem import Problem

SAMPLES = 4001  # of g, for its largest values
ROUNDING = {"float32": 64.0, "float64": 64.0}  # times eps and the condition number's square root


def g_of(t: np.ndarray, periodic: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """g and its second and fourth derivatives at t in [0, 1]: exp(t) t (1 - t), or exp(sin(2 pi t)) if periodic."""
    if not periodic:
        e = np.exp(t)
        return (t - t * t) * e, -(3 * t + t * t) * e, -(8 + 7 * t + t * t) * e
    w = 2 * math.pi
    s, c = np.sin(w * t), np.cos(w * t)
    g = np.exp(s)
    return g, w**2 * (c * c - s) * g, w**4 * (c**4 - 6 * s * c * c - 4 * c * c + 3 * s * s + s) * g


def axes(problem: Problem) -> list[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """``g_of`` at all points of each dimension.  Whole dimensions, since NumPy may round an element by its place."""
    every = zip(problem.shape, problem.spacings, problem.periodic, strict=True)
    return [g_of((np.arange(n) + (0 if around else 1)) * h, around) for n, h, around in every]


def own_part(grid: Any, values: list[np.ndarray]) -> list[np.ndarray]:
    """What this PE owns of an array for each dimension, as an open mesh."""
    n = len(values)
    shapes = [tuple(-1 if one == d else 1 for one in range(n)) for d in range(n)]
    ranges = [slice(first, first + own) for first, own in zip(grid.first, grid.own, strict=True)]
    return [one[some].reshape(shape) for one, some, shape in zip(values, ranges, shapes, strict=True)]


def solution(grid: Any, problem: Problem) -> np.ndarray:
    """u at this PE's own points, float64 (own); its mean over the box is not 0."""
    return np.asarray(math.prod(own_part(grid, [g for g, _, _ in axes(problem)])))


def right_side(grid: Any, problem: Problem) -> np.ndarray:
    """f at this PE's own points, float64 (own)."""
    values = [own_part(grid, [one[k] for one in axes(problem)]) for k in (0, 1)]
    f: Any = 0.0
    for d in range(len(problem.shape)):
        f = f - math.prod(values[1 if d == one else 0][one] for one in range(len(problem.shape)))
    return np.asarray(f)


def allowed_error(problem: Problem, residual: float) -> float:
    """What the root mean square of the error may be.

    The differences of second order err by at most h**2 / 12 times the fourth derivatives; the inverse of the operator
    has the norm 1 / (its smallest eigenvalue), which the residual, relative to f, passes through as well.
    """
    every = [[np.abs(one).max() for one in g_of(np.linspace(0, 1, SAMPLES), around)] for around in problem.periodic]
    n = len(every)
    truncation = f = 0.0
    for d, h in enumerate(problem.spacings):
        others = math.prod(every[k][0] for k in range(n) if k != d)
        truncation += h * h / 12.0 * every[d][2] * others
        f += every[d][1] * others
    least, most = problem.eigenvalues()
    rounding = ROUNDING[problem.dtype] * float(np.finfo(problem.dtype).eps) * math.sqrt(most / least)
    return float((truncation + f * (residual + rounding)) / (least / problem.scale))
