"""The table of engines of sweeps, their predicted times, and the choice of an engine."""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

from ...errors import Unsupported
from . import tile_engine
from .norm import SweepNorm
from .passes import most_sweeps, passes
from .problem import SweepProblem, halo_why_not, most_depth
from .resident_on_cpu import resident


class Rates(NamedTuple):
    """The speed of a kind of device, measured on an H200, and on two cores of a Xeon at 2.5 GHz.

    pass_us:     time of the launch of a pass and of the part of its exchange that is not hidden
    exchange_us: time of an exchange inside a launch
    gb_s:        rate of memory, read and written
    level_us:    fixed time of a sweep in a pass of several sweeps
    point_ns:    time of a float32 point in such a sweep, for 1, 2 and 3 dimensions
    norm_factor: time of a sweep with a norm divided by its time without a norm
    """

    pass_us: float
    exchange_us: float
    gb_s: float
    level_us: float
    point_ns: tuple[float, float, float]
    norm_factor: float


RATES = {
    "cuda": Rates(9, exchange_us=0.8, gb_s=3700, level_us=2, point_ns=(3.2e-4, 3.2e-4, 1.05e-3), norm_factor=1.6),
    "host": Rates(30, exchange_us=5, gb_s=10, level_us=0, point_ns=(0.3, 0.3, 0.6), norm_factor=1),
}
RATES["simulated"] = RATES["host"]


def resident_on_cpu_us(problem: SweepProblem, depth: int) -> float:
    """Microseconds of all sweeps in one launch with an exchange before each pass of ``depth`` sweeps."""
    n_passes = -(-problem.sweeps // depth)
    rates = RATES[problem.context.backend.name]
    return passes_us(problem, depth) - (n_passes - 1) * (rates.pass_us - rates.exchange_us)


def passes_us(problem: SweepProblem, depth: int) -> float:
    """Microseconds of all sweeps in passes of ``depth`` sweeps."""
    rates, item_bytes = RATES[problem.context.backend.name], problem.stencil.item_bytes
    n_points = math.prod(problem.parts.own(problem.me))
    n_passes = -(-problem.sweeps // depth)
    moved_us = (2 + problem.stencil.has_coefficient) * item_bytes * n_points / rates.gb_s / 1e3
    widened = math.prod((n + depth) / n for n in problem.parts.own(problem.me))
    point_us = n_points * widened * rates.point_ns[problem.stencil.n_dims - 1] * item_bytes / 4e3
    computed_us = depth * (rates.level_us + point_us) * (rates.norm_factor if problem.norms == "every" else 1)
    return n_passes * (rates.pass_us + max(moved_us, computed_us if depth > 1 else 0))


class Engine(NamedTuple):
    """A way to sweep.

    backend:  name of the only backend with this engine; "": all backends
    sentence: description of its launches, for ``Sweep.explain``
    depth:    (problem) -> sweeps between two exchanges, if the user gives no depth
    why_not:  (problem, depth) -> the reason why the engine can't run on this PE, or ""
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
    """An engine as a plan would use it.  why_not: the reason of the first PE on which it can't run, or \"\""""

    engine: Engine
    depth: int
    why_not: str
    cost_us: float

    def __str__(self) -> str:
        head = f"{self.engine.name:9}{self.engine.sentence}"
        if self.why_not:
            return f"{head}: can't run here, {self.why_not}"
        return f"{head}: depth {self.depth}, {self.cost_us:.3g} us predicted"


def blocked_depth(problem: SweepProblem) -> int:
    """The most sweeps of a pass that the halos, the kernels and the number of sweeps allow."""
    most_of_halos, most_of_pass = most_depth(problem.parts), most_sweeps(problem)
    most = most_of_pass if most_of_halos is None else min(most_of_halos, most_of_pass)
    return max(1, min(problem.sweeps, most))


def pass_why_not(problem: SweepProblem, depth: int) -> str:
    """The reason why a pass can't do ``depth`` sweeps, or ""."""
    if reason := halo_why_not(problem.parts, depth):
        return reason
    most = most_sweeps(problem)
    return f"a pass does at most {most} sweeps, and depth is {depth}" if depth > most else ""


def blocked_why_not(problem: SweepProblem, depth: int) -> str:
    """The reason why the blocked engine can't run, or ""."""
    if depth > 1 or problem.sweeps == 1:
        return pass_why_not(problem, depth)
    if most_depth(problem.parts) == 1:
        return "halos of one point allow one sweep a pass: make the grid with halo=4, for example"
    if most_sweeps(problem) == 1:
        return "its pass does one sweep here, as that of the plain engine"
    return "a pass of depth=1 is that of the plain engine: give a larger depth"


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
    """A choice for each engine of the backend, the same list on all PEs.  Collective.

    depth: the user's depth; None: each engine's own
    """
    backend = problem.context.backend.name
    engines = [engine for engine in ENGINES if engine.backend in ("", backend)]
    rows_of_pe = []
    for engine in engines:
        own = 1 if engine.name == "plain" else depth or engine.depth(problem)
        rows_of_pe.append((own, engine.why_not(problem, own), engine.cost_us(problem, own)))
    rows_of_all = problem.context.job.gather(rows_of_pe, "engines of sweeps")
    by_engine = []
    for k, engine in enumerate(engines):
        rows = [rows_of_one[k] for rows_of_one in rows_of_all]
        why_not = next((why for _, why, _ in rows if why), "")
        by_engine.append(Choice(engine, min(own for own, _, _ in rows), why_not, max(us for _, _, us in rows)))
    return by_engine


def chosen(by_engine: list[Choice], engine: str) -> Choice:
    """The choice of an engine; for "auto" the choice with the least predicted time.  Raises Unsupported if none can."""
    named = [choice for choice in by_engine if engine in ("auto", choice.engine.name)]
    able = [choice for choice in named if not choice.why_not]
    if not able:
        reasons = "; ".join(choice.why_not for choice in named) or "this backend has no such engine"
        raise Unsupported(f"the {engine} engine can't run here: {reasons}; or use engine='auto'")
    return min(able, key=lambda choice: choice.cost_us)
