"""Whether measured times can be trusted: machines with too many PEs, and measuring until the order is stable."""

import os
import platform
from collections import Counter
from collections.abc import Callable, Mapping
from itertools import permutations
from statistics import median

from ..team import Team

CLEARLY = 1.15  # times apart by this factor are an order; what is closer may change places
MOST_ROUNDS = 6  # of measurements of one size


def reversed_pair(before: Mapping[str, float], after: Mapping[str, float]) -> tuple[str, str] | None:
    """Two names of which the first was clearly faster before, and clearly slower after; None where the order held.

    before, after: times by name, in any unit
    """
    for fast, slow in permutations(before, 2):
        if before[fast] * CLEARLY < before[slow] and after[slow] * CLEARLY < after[fast]:
            return fast, slow
    return None


def until_stable(measure: Callable[[], dict[str, float]]) -> tuple[dict[str, float], bool]:
    """(the median time of each name, whether two rounds one after the other had the same order).

    measure: one round: a time for each name, the same on every PE.  It is called twice or more.
    """
    rounds, stable = [measure()], False
    while not stable and len(rounds) < MOST_ROUNDS:
        rounds.append(measure())
        stable = reversed_pair(rounds[-2], rounds[-1]) is None
    return {name: median(one[name] for one in rounds) for name in rounds[0]}, stable


def crowded(team: Team) -> str:
    """Why times of this team would say little, since its PEs share what each needs for itself; or "".  Collective."""
    shared, room = "cores", len(os.sched_getaffinity(0))
    if team.backend == "cuda":
        import cupy

        shared, room = f"GPU {cupy.cuda.runtime.deviceGetPCIBusId(cupy.cuda.runtime.getDevice())}", 1
    for (host, what, at_most), pes in Counter(team.gather((platform.node(), shared, room))).items():
        if pes > at_most:
            return f"{pes} PEs share the {f'{at_most} ' if what == 'cores' else ''}{what} of {host}"
    return ""
