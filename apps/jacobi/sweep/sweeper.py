"""Launches that sweep bands of rows, and what all launches that call ``march`` share."""

from typing import Any

from ...program.device import address, array_module
from ..grid.problem import Problem
from .band import RESIDENT, THREADS_PER_BLOCK, Band
from .kernels import bound, sweeps
from .records import FieldPair, Pass


def compiled(team: Any, kernel: Any, problem: Problem, count: int, norms: str) -> Any:
    """A kernel that calls ``march``, compiled for passes of ``count`` sweeps; norms: "none", "last" or "all"."""
    made = bound(kernel, team.backend, count, norms, problem.dtype, problem.nx)
    return team.kernel(made, problem.dtype, most_threads=THREADS_PER_BLOCK, resident=RESIDENT[count])


def scratch_for(team: Any, problem: Problem, count: int) -> Any:
    """Scratch memory of this PE for passes of up to ``count`` sweeps, (nbytes,) uint8."""
    if team.backend == "cuda":
        return array_module(team).zeros(1, "uint8")
    from .march_host import scratch_bytes

    return array_module(team).zeros(scratch_bytes(count, problem.dtype), "uint8")


class Sweeper:
    """One sweep from one field to another.  pitch_bytes: of the fields"""

    def __init__(self, team: Any, problem: Problem, pitch_bytes: int):
        self._nx, self._pitch_bytes = problem.nx, pitch_bytes
        self._scratch = scratch_for(team, problem, 1)
        self._scratch_at = address(self._scratch)
        self._plain, self._measuring = (compiled(team, sweeps, problem, 1, norms) for norms in ("none", "last"))

    def __call__(self, new: Any, old: Any, band: Band, stream: Any, words_at: int = 0) -> None:
        """new = one sweep of old in a band of rows, in stream order.

        words_at: address of the words that the squared changes are added to (0: none)
        """
        kernel, summed = (self._measuring, 1) if words_at else (self._plain, 0)
        fields = FieldPair(address(new), address(old), self._nx, self._pitch_bytes)
        work = Pass(1, summed, words_at, self._scratch_at)
        kernel(band.blocks, fields, band.rows, work, stream=stream, threads=THREADS_PER_BLOCK)
