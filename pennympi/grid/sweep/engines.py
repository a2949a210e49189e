"""The engines of sweeps, a row each, and the choice among them."""

from collections.abc import Callable
from typing import Any, NamedTuple

from ...errors import Unsupported
from . import cost, resident
from .norm import SweepNorm
from .passes import Passes, deepest_pass
from .problem import SweepProblem, deepest


class Engine(NamedTuple):
    """A way to sweep.

    sentence: how it moves data
    depth:    (problem) -> sweeps from one exchange to the next, where the user names none
    why_not:  (problem, depth) -> why it can't run on this PE; "" if it can
    cost_us:  (problem, depth) -> predicted microseconds of all sweeps
    prepare:  (problem, depth, norm) -> a function that enqueues all sweeps in a stream.  Collective
    """

    name: str
    sentence: str
    depth: Callable[[SweepProblem], int]
    why_not: Callable[[SweepProblem, int], str]
    cost_us: Callable[[SweepProblem, int], float]
    prepare: Callable[[SweepProblem, int, SweepNorm | None], Callable[[Any], None]]


class Choice(NamedTuple):
    """An engine as a plan would use it.  why_not: of the first PE where it can't run; "" if it can on all"""

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
    """Sweeps of a pass at most: what the halos, the kernels and the number of sweeps allow."""
    most = deepest(problem.parts)
    deep = deepest_pass(problem)
    return max(1, min(problem.sweeps, deep if most is None else min(most, deep)))


def blocked_why_not(problem: SweepProblem, depth: int) -> str:
    """Why no pass does so many sweeps."""
    most = deepest_pass(problem)
    if depth > most:
        return f"a pass does at most {most} sweeps"
    if depth == 1 and problem.sweeps > 1:
        return "halos of one point allow one sweep a pass: make the grid with halo=4 or so"
    return ""


def resident_why_not(problem: SweepProblem, depth: int) -> str:
    """Why the field can't stay on the chip."""
    if problem.context.backend.name == "cuda":
        return "not built yet"
    most = deepest_pass(problem)
    return f"a pass does at most {most} sweeps" if depth > most else ""


ENGINES = (
    Engine("plain", "one sweep a pass over memory", lambda _: 1, lambda *_: "", cost.passes_us, Passes),
    Engine("blocked", "several sweeps a pass over memory", blocked_depth, blocked_why_not, cost.passes_us, Passes),
    Engine(
        "resident",
        "all sweeps in one launch, the field on the chip",
        blocked_depth,
        resident_why_not,
        cost.resident_us,
        resident.prepare,
    ),
)
TABLE = {one.name: one for one in ENGINES}


def choices(problem: SweepProblem, depth: int | None) -> list[Choice]:
    """What each engine would do, the same on all PEs.  Collective."""
    own = []
    for one in ENGINES:
        deep = 1 if one.name == "plain" else depth or one.depth(problem)
        own.append((deep, one.why_not(problem, deep), one.cost_us(problem, deep)))
    every = problem.context.job.gather(own, "engines of sweeps")
    found = []
    for k, one in enumerate(ENGINES):
        rows = [pe[k] for pe in every]
        why_not = next((why for _, why, _ in rows if why), "")
        found.append(Choice(one, min(deep for deep, _, _ in rows), why_not, max(us for _, _, us in rows)))
    return found


def chosen(found: list[Choice], engine: str) -> Choice:
    """The choice for a named engine, or the one that is predicted to be the fastest.  Raises Unsupported."""
    if engine == "auto":
        return min((one for one in found if not one.why_not), key=lambda one: one.cost_us)
    named = next(one for one in found if one.engine.name == engine)
    if named.why_not:
        raise Unsupported(f"the {engine} engine can't run here: {named.why_not}; or use engine='auto'")
    return named
