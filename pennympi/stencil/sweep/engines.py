"""The table of engines of sweeps, their predicted times, and the choice of one of them."""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

from ...errors import Unsupported
from . import tile_engine
from .norm import SweepNorm
from .passes import deepest_pass, passes
from .problem import SweepProblem, deepest
from .resident_on_cpu import resident


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
RATES["simulated"] = RATES["host"]


def resident_on_cpu_us(problem: SweepProblem, depth: int) -> float:
    """Microseconds of all sweeps in one launch, which exchanges every ``depth`` sweeps."""
    n_passes = -(-problem.sweeps // depth)
    rates = RATES[problem.context.backend.name]
    return passes_us(problem, depth) - (n_passes - 1) * (rates.pass_us - rates.exchange_us)


def passes_us(problem: SweepProblem, depth: int) -> float:
    """Microseconds of all sweeps, ``depth`` of them a pass."""
    rates, item_bytes = RATES[problem.context.backend.name], problem.stencil.item_bytes
    n_points = math.prod(problem.parts.own(problem.me))
    n_passes = -(-problem.sweeps // depth)
    moved_us = (2 + problem.stencil.has_coefficient) * item_bytes * n_points / rates.gb_s / 1e3
    widened = math.prod((n + depth) / n for n in problem.parts.own(problem.me))
    point_us = n_points * widened * rates.point_ns[problem.stencil.n_dims - 1] * item_bytes / 4e3
    computed_us = depth * (rates.level_us + point_us) * (rates.every if problem.norms == "every" else 1)
    return n_passes * (rates.pass_us + max(moved_us, computed_us if depth > 1 else 0))


class Engine(NamedTuple):
    """A way to sweep.

    backend:  the only backend with this engine; "": both backends
    sentence: how the engine moves data
    depth:    (problem) -> sweeps between two exchanges, if the user gives no depth
    why_not:  (problem, depth) -> why the engine can't run on this PE, or ""
    cost_us:  (problem, depth) -> predicted microseconds of all sweeps
    prepare:  (problem, depth, norm) -> a function that enqueues all sweeps in a stream.  Collective
    """

    name: str
    backend: str
    sentence: str
    depth: Callable[[SweepProblem], int]
    why_not: Callable[[SweepProblem, int], str]
    cost_us: Callable[[SweepProblem, int], float]
    prepare: Callable[[SweepProblem, int, SweepNorm | None], Callable[[Any], None]]


class Choice(NamedTuple):
    """An engine as a plan would use it.  why_not: the reason of the first PE where it can't run, or \"\""""

    engine: Engine
    depth: int
    why_not: str
    cost_us: float

    def __str__(self) -> str:
        head = f"{self.engine.name:9}{self.engine.sentence}"
        if self.why_not:
            return f"{head}: not here, {self.why_not}"
        return f"{head}: depth {self.depth}, {self.cost_us:.3g} us predicted"


def blocked_depth(problem: SweepProblem) -> int:
    """The most sweeps of a pass that the halos, the kernels and the number of sweeps allow."""
    most, deep = deepest(problem.parts), deepest_pass(problem)
    return max(1, min(problem.sweeps, deep if most is None else min(most, deep)))


def pass_why_not(problem: SweepProblem, depth: int) -> str:
    """Why no pass of the backend does so many sweeps, or ""."""
    most = deepest_pass(problem)
    return f"a pass does at most {most} sweeps, and depth is {depth}" if depth > most else ""


def blocked_why_not(problem: SweepProblem, depth: int) -> str:
    """Why the blocked engine can't run, or ""."""
    if depth == 1 and problem.sweeps > 1:
        return "halos of one point allow one sweep a pass: make the grid with halo=4, for example"
    return pass_why_not(problem, depth)


ENGINES = (
    Engine("plain", "", "one sweep a pass over memory", lambda _: 1, lambda *_: "", passes_us, passes),
    Engine("blocked", "", "several sweeps a pass over memory", blocked_depth, blocked_why_not, passes_us, passes),
    Engine(
        "resident", "host", "all sweeps in one launch, which exchanges halos", blocked_depth, pass_why_not,
        resident_on_cpu_us, resident,
    ),
    Engine(
        "resident", "cuda", "all sweeps in one launch, the field in registers", tile_engine.depth, tile_engine.why_not,
        tile_engine.cost_us, tile_engine.TileSweeps,
    ),
)  # fmt: skip


def choices(problem: SweepProblem, depth: int | None) -> list[Choice]:
    """The choice that each engine gives, the same list on all PEs.  Collective."""
    backend = problem.context.backend.name
    engines = [one for one in ENGINES if one.backend in ("", backend)]
    own = []
    for one in engines:
        deep = 1 if one.name == "plain" else depth or one.depth(problem)
        own.append((deep, one.why_not(problem, deep), one.cost_us(problem, deep)))
    every = problem.context.job.gather(own, "engines of sweeps")
    found = []
    for k, one in enumerate(engines):
        rows = [pe[k] for pe in every]
        why_not = next((why for _, why, _ in rows if why), "")
        found.append(Choice(one, min(deep for deep, _, _ in rows), why_not, max(us for _, _, us in rows)))
    return found


def chosen(found: list[Choice], engine: str) -> Choice:
    """The fastest engine, by its prediction, of a name or of all (``auto``).  Raises Unsupported if none can run."""
    named = [one for one in found if engine in ("auto", one.engine.name)]
    able = [one for one in named if not one.why_not]
    if not able:
        reasons = "; ".join(one.why_not for one in named)
        raise Unsupported(f"the {engine} engine can't run here: {reasons}; or use engine='auto'")
    return min(able, key=lambda one: one.cost_us)
