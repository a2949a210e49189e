"""The error of a sum, and whether its bits are the same on all PEs and in every run.

As in vLLM's pull request 2192: the values are normally distributed, the reference is the sum in float64, and the error
is the mean of the absolute differences.  ``floor`` is the error of the reference rounded to the dtype once, which is the
least possible.
"""

import hashlib
import secrets
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from ..arrays.dtypes import DType
from ..team import Team
from .cases import CASES
from .implementation import Implementation
from .memory import array_module

ELEMENTS, RUNS = 1 << 20, 5
DTYPES = ["float16", "bfloat16"]


@dataclass(frozen=True)
class Accuracy:
    """One implementation and dtype.

    mean, worst: mean and maximum of the absolute differences from the float64 sum
    floor:       the mean for the float64 sum rounded to the dtype
    same_on_all, same_each_run: the bits are the same on all PEs, and in every run
    """

    implementation: str
    dtype: str
    mean: float
    worst: float
    floor: float
    same_on_all: bool
    same_each_run: bool


def measure(
    team: Team, implementations: Sequence[Implementation], dtypes: Sequence[DType], elements: int
) -> list[Accuracy]:
    """A row for each dtype and each implementation that has it; vectors have ``elements`` elements.  Collective."""
    seed = team.gather(secrets.randbits(48))[0]
    rows = []
    for dtype in dtypes:
        given = [
            np.random.default_rng([seed, pe]).standard_normal(elements).astype(dtype.numpy) for pe in range(team.n_pes)
        ]
        truth = np.sum([one.astype(np.float64) for one in given], axis=0)
        floor = float(np.abs(truth.astype(dtype.numpy).astype(np.float64) - truth).mean())
        for one in implementations:
            if one.refuse(CASES["allreduce"], dtype, "sum"):
                continue
            results = [_sum(team, one, dtype, given[team.me]) for _ in range(RUNS)]
            off = np.abs(results[0].astype(np.float64) - truth)
            digests = [hashlib.sha256(result.tobytes()).hexdigest() for result in results]
            everywhere = team.gather(digests)
            alike = all(digests[0] == everywhere[0][0] for digests in everywhere)
            stable = all(len(set(digests)) == 1 for digests in everywhere)
            rows.append(Accuracy(one.name, dtype.name, float(off.mean()), float(off.max()), floor, alike, stable))
    return rows


def _sum(team: Team, one: Implementation, dtype: DType, values: np.ndarray) -> np.ndarray:
    """The implementation's sum of all PEs' values (n,), in host memory."""
    xp: Any = array_module(team) if one.on_device else np
    source = one.memory.source[: values.nbytes].view(dtype.numpy)
    target = one.memory.target[: values.nbytes].view(dtype.numpy)
    source.view("uint8")[:] = xp.asarray(values.view(np.uint8))
    stream = team.stream() if one.on_device else None
    team.synchronize()
    one.call(CASES["allreduce"], source, target, "sum", 0)(stream)
    team.synchronize()
    bits = target.view("uint8")
    return (bits.get() if hasattr(bits, "get") else bits.copy()).view(dtype.numpy)


def table(rows: Sequence[Accuracy], n_pes: int, elements: int) -> list[str]:
    """A Markdown table of the rows."""
    lines = [
        f"AllReduce sum of {elements} normally distributed values on {n_pes} PEs, differences from the float64 sum:",
        "",
        "| dtype | | mean abs diff | max abs diff | rounded truth | same on all PEs | same in every run |",
        "|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        same = ["yes" if one else "NO" for one in (row.same_on_all, row.same_each_run)]
        numbers = f"{row.mean:.7f} | {row.worst:.5f} | {row.floor:.7f}"
        lines.append(f"| {row.dtype} | {row.implementation} | {numbers} | {same[0]} | {same[1]} |")
    return lines


def as_json(rows: Sequence[Accuracy]) -> list[dict[str, Any]]:
    """The rows, ready for JSON."""
    return [asdict(row) for row in rows]
