"""How far a sum is from the exact one, and whether its bits are the same everywhere and every time.

As in vLLM's pull request 2192: normally distributed values, the truth in float64, the
mean of the absolute differences.  ``floor`` is what is left when the true sum is
rounded to the dtype once: nobody can be nearer.
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
from .contestant import Contestant
from .memory import array_module

ELEMENTS, RUNS = 1 << 20, 5
DTYPES = ["float16", "bfloat16"]


@dataclass(frozen=True)
class Accuracy:
    """One contestant and dtype.

    mean, worst: of the absolute differences from the float64 sum;  floor: of the rounded true sum, mean
    same_on_all, same_each_run: bit for bit
    """

    contestant: str
    dtype: str
    mean: float
    worst: float
    floor: float
    same_on_all: bool
    same_each_run: bool


def measure(team: Team, contestants: Sequence[Contestant], dtypes: Sequence[DType], elements: int) -> list[Accuracy]:
    """A row for each contestant that knows the dtype.  Collective."""
    seed = team.comm.bcast(secrets.randbits(48) if team.me == 0 else None)
    rows = []
    for dtype in dtypes:
        given = [
            np.random.default_rng([seed, pe]).standard_normal(elements).astype(dtype.numpy) for pe in range(team.n_pes)
        ]
        truth = np.sum([one.astype(np.float64) for one in given], axis=0)
        floor = float(np.abs(truth.astype(dtype.numpy).astype(np.float64) - truth).mean())
        for one in contestants:
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


def _sum(team: Team, one: Contestant, dtype: DType, values: np.ndarray) -> np.ndarray:
    """What the contestant makes of all PEs' values (n,), in host memory."""
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
    """Markdown."""
    lines = [
        f"AllReduce sum of {elements} normally distributed values on {n_pes} PEs, differences from the float64 sum:",
        "",
        "| dtype | | mean abs diff | max abs diff | rounded truth | same on all PEs | same in every run |",
        "|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        same = ["yes" if one else "NO" for one in (row.same_on_all, row.same_each_run)]
        numbers = f"{row.mean:.7f} | {row.worst:.5f} | {row.floor:.7f}"
        lines.append(f"| {row.dtype} | {row.contestant} | {numbers} | {same[0]} | {same[1]} |")
    return lines


def as_json(rows: Sequence[Accuracy]) -> list[dict[str, Any]]:
    """The rows for a file."""
    return [asdict(row) for row in rows]
