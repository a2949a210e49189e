"""Predicted times of sweeps, from the bytes that they move, the points that they compute, and their launches."""

import math
from typing import NamedTuple

from .problem import SweepProblem


class Rates(NamedTuple):
    """Of one kind of device, measured on an H200, and on two cores of a Xeon at 2.5 GHz.

    pass_us:   the launches of a pass and of its exchange
    exchange_us: an exchange inside a launch
    gb_s:      bytes read and written
    level_us:  fixed time of a sweep in a pass of several
    point_ns:  time of a float32 point in such a sweep, by the number of dimensions
    every:     factor of a sweep with a norm
    """

    pass_us: float
    exchange_us: float
    gb_s: float
    level_us: float
    point_ns: tuple[float, float, float]
    every: float


RATES = {
    "cuda": Rates(pass_us=9, exchange_us=0.8, gb_s=4000, level_us=2, point_ns=(3.2e-4, 3.2e-4, 9.8e-4), every=1.5),
    "host": Rates(pass_us=30, exchange_us=5, gb_s=10, level_us=0, point_ns=(0.3, 0.3, 0.6), every=1),
}


def resident_on_cpu_us(problem: SweepProblem, depth: int) -> float:
    """Microseconds of all sweeps in one launch, which exchanges every ``depth`` sweeps."""
    passes = -(-problem.sweeps // depth)
    rates = RATES[problem.context.backend.name]
    return passes_us(problem, depth) - (passes - 1) * (rates.pass_us - rates.exchange_us)


def passes_us(problem: SweepProblem, depth: int) -> float:
    """Microseconds of all sweeps, ``depth`` of them a pass."""
    rates, item_bytes = RATES[problem.context.backend.name], problem.stencil.item_bytes
    n_points = math.prod(problem.parts.own(problem.me))
    passes = -(-problem.sweeps // depth)
    moved_us = (2 + problem.stencil.has_coefficient) * item_bytes * n_points / rates.gb_s / 1e3
    widened = math.prod((n + depth) / n for n in problem.parts.own(problem.me))
    point_us = n_points * widened * rates.point_ns[problem.stencil.n_dims - 1] * item_bytes / 4e3
    computed_us = depth * (rates.level_us + point_us) * (rates.every if problem.norms == "every" else 1)
    return passes * (rates.pass_us + max(moved_us, computed_us if depth > 1 else 0))
