"""The verdict of a check, and the comparison of norms."""

import math
from typing import NamedTuple

import numpy as np

from ..problem import Problem

TOLERANCE = {"float32": 1e-5, "float64": 1e-8}
NOISE = 2.0  # the norm of rounding alone, in eps * sqrt(points); measured: 1.4


class Verdict(NamedTuple):
    """The result of a check.  line: its line in the report"""

    passed: bool
    line: str


def compare_norms(problem: Problem, history: list[tuple[int, float]], known: np.ndarray | list[float]) -> Verdict:
    """Compare the norms of a history with the known norms (sweeps,)."""
    if not history:
        return Verdict(True, "no norms")
    iterations, norms = zip(*history, strict=True)
    got, want = np.array(norms), np.asarray(known)[list(iterations)]
    tolerance = TOLERANCE[problem.dtype]
    noise = NOISE * float(np.finfo(problem.dtype).eps) * math.sqrt(problem.nx * problem.ny)
    beyond_noise = np.maximum(np.abs(got - want) - noise, 0.0) / np.maximum(want, noise)
    error = float(beyond_noise.max())
    return Verdict(error <= tolerance, f"{len(history)} norms within {error:.2e} ({tolerance:.0e} allowed)")
