"""Launching sweeps of bands of rows."""

from typing import Any

from ..grid.device import address, array_module
from ..grid.problem import Problem
from .band import RESIDENT, THREADS_PER_BLOCK, Band
from .sweep import bound, sweeps


def compiled(team: Any, text: Any, problem: Problem, count: int, norms: str) -> Any:
    """A text of ``sweep.py`` as a kernel for so many sweeps a pass; norms: "none", "last" or "all"."""
    made = bound(text, team.backend, (("march", count, norms),), problem.dtype, problem.nx)
    return team.kernel(made, problem.dtype, most_threads=THREADS_PER_BLOCK, resident=RESIDENT[count])


def scratch_for(team: Any, problem: Problem, count: int) -> Any:
    """Memory of this PE that up to ``count`` sweeps a pass need beside the fields."""
    if team.backend == "cuda":
        return array_module(team).zeros(1, "uint8")
    from .march_host import scratch_bytes

    return array_module(team).zeros(scratch_bytes(count, problem.dtype), "uint8")


class Sweeper:
    """Sweeps from one field to another.  Kernels are made when they are first wanted.

    most: sweeps a pass at most;  pitch_bytes: of the fields
    """

    def __init__(self, team: Any, problem: Problem, max_sweeps: int, pitch_bytes: int):
        self.team, self.problem, self.pitch_bytes = team, problem, pitch_bytes
        self._scratch = scratch_for(team, problem, max_sweeps)
        self.scratch_at = address(self._scratch)
        self._kernels: dict[tuple[int, str], Any] = {}

    def __call__(
        self, new: Any, old: Any, band: Band, stream: Any, words_at: int = 0, count: int = 1, norms: str = ""
    ) -> None:
        """new = ``count`` sweeps of old in a band of rows, in stream order.

        words_at: where the changes are added up, 0: nowhere;  norms: "last" or "all", by default the last
        """
        norms = norms or ("last" if words_at else "none")
        if (count, norms) not in self._kernels:
            self._kernels[count, norms] = compiled(self.team, sweeps, self.problem, count, norms)
        summed = {"none": 0, "last": 1, "all": count}[norms]
        where = (address(new), address(old), *band.rows, self.problem.nx, self.pitch_bytes)
        self._kernels[count, norms](
            band.blocks, count, summed, *where, words_at, self.scratch_at, stream=stream, threads=THREADS_PER_BLOCK
        )
