"""Launches that sweep bands of rows, and what all launches that call ``march`` share."""

from typing import Any

from ...program.device import address, array_module
from ..grid.problem import Problem
from .band import RESIDENT, THREADS_PER_BLOCK, Band
from .kernels import bound, sweeps
from .records import FieldPair, Pass

SUMMED = {"none": 0, "last": 1}  # how many sweeps of a pass have a norm; "all": all of them


def compiled(team: Any, kernel: Any, problem: Problem, count: int, norms: str) -> Any:
    """A kernel that calls ``march``, compiled for passes of ``count`` sweeps; norms: "none", "last" or "all"."""
    made = bound(kernel, team.backend, (("march", count, norms),), problem.dtype, problem.nx)
    return team.kernel(made, problem.dtype, most_threads=THREADS_PER_BLOCK, resident=RESIDENT[count])


def scratch_for(team: Any, problem: Problem, count: int) -> Any:
    """Scratch memory of this PE for passes of up to ``count`` sweeps, (nbytes,) uint8."""
    if team.backend == "cuda":
        return array_module(team).zeros(1, "uint8")
    from .march_host import scratch_bytes

    return array_module(team).zeros(scratch_bytes(count, problem.dtype), "uint8")


class Sweeper:
    """Sweeps from one field to another.  Each kernel is compiled when it is first used.

    max_sweeps: of a pass;  pitch_bytes: of the fields
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

        words_at: address of the words that the changes are added to (0: none)
        norms:    "last" or "all"; by default "last" where there are words
        """
        norms = norms or ("last" if words_at else "none")
        if (count, norms) not in self._kernels:
            self._kernels[count, norms] = compiled(self.team, sweeps, self.problem, count, norms)
        fields = FieldPair(address(new), address(old), self.problem.nx, self.pitch_bytes)
        work = Pass(count, SUMMED.get(norms, count), words_at, self.scratch_at)
        self._kernels[count, norms](band.blocks, fields, band.rows, work, stream=stream, threads=THREADS_PER_BLOCK)
