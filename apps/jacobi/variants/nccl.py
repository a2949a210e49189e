"""NCCL without overlap: sweep all rows, then grouped sends and receives of the edge rows on the same stream.

Read first: mpi.py, then nccl_comm.py.
"""

from collections.abc import Callable
from typing import Any

from ..grid.problem import Problem
from ..norm.mpi_nccl import MpiNorm, NcclNorm
from ..norm.norm import Norm
from .nccl_comm import NcclComm, missing
from .steps import SweepBySweep


class Nccl(SweepBySweep):
    """norm_by: "mpi", or "nccl" to measure ncclAllReduce, which is made for bandwidth, on a few bytes"""

    def __init__(self, team: Any, problem: Problem, norm_by: str = "mpi"):
        self._norm_by = norm_by
        super().__init__(team, problem)
        self.push = self.stream

    def make_norm(self) -> Norm:
        self.nccl = NcclComm(self.team, self.fields)
        return NcclNorm(self.team, self.nccl) if self._norm_by == "nccl" else MpiNorm(self.team)

    @classmethod
    def refuse(cls, team: Any, problem: Problem) -> str:
        return missing(team)

    def sweep(self, slot: int | None) -> None:
        self.launch(self.all_rows, slot, self.stream)
        self.nccl.swap(self.fields.new, stream=self.stream)

    def note(self, wrap: Callable[[str, str, Any], Any]) -> None:
        self.nccl.swap = wrap("halo", "nccl swap", self.nccl.swap)  # type: ignore[method-assign]
        self.nccl.sum = wrap("norm", "nccl allreduce", self.nccl.sum)  # type: ignore[method-assign]

    def exchange(self) -> None:
        self.nccl.swap(self.fields.old, stream=self.push)
