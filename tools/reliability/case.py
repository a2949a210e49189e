"""What the scorecard counts: cases of a row, and rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Case:
    """One thing that was tried.

    name:    in a few words;  times: how often
    failure: what was seen instead of the promise; "" where it held
    not_run: why it could not be tried here; it then neither holds nor fails
    """

    name: str
    times: int = 1
    failure: str = ""
    not_run: str = ""


@dataclass(frozen=True)
class Row:
    """One row of the table.

    tried, promise: in words;  run: Stage -> its cases
    seconds, gpu_s: what a whole run takes on CPUs and on GPUs, by which a shorter one is cut; 0: it makes no sense there
    """

    number: str
    tried: str
    promise: str
    seconds: float
    run: Callable[[Any], Iterator[Case]]
    gpu_s: float = 0.0


def tally(cases: list[Case]) -> dict[str, Any]:
    """A row's result, as the JSON keeps it: counts, and each failure once in the words of its first case."""
    failed = [case for case in cases if case.failure]
    kinds: dict[str, dict[str, Any]] = {}
    for case in cases:
        kind = kinds.setdefault(case.name, {"times": 0, "failed": 0})
        kind["times"] += 0 if case.not_run else case.times
        kind["failed"] += bool(case.failure)
        if case.failure:
            kind.setdefault("failure", case.failure)
        if case.not_run:
            kind["not_run"] = case.not_run
    return {
        "held": not failed and any(not case.not_run for case in cases),
        "times": sum(kind["times"] for kind in kinds.values()),
        "failed": len(failed),
        "cases": kinds,
    }
