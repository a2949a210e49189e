"""The whole problem on one PE: sweep all rows, then copy the first and last row into the halo.

Read first: ../textbook.py, then steps.py and ../sweep/kernels.py.
"""

from typing import Any

from ...program.device import address
from ..grid.problem import Problem
from ..sweep.kernels import wrap
from .steps import SweepBySweep


class Single(SweepBySweep):
    """The time that speedups refer to."""

    def __init__(self, team: Any, problem: Problem):
        super().__init__(team, problem)
        self._wrap = team.kernel(wrap, problem.dtype)

    @classmethod
    def refuse(cls, team: Any, problem: Problem) -> str:
        return "" if team.n_pes == 1 else f"it is for one PE, and there are {team.n_pes}"

    @classmethod
    def kernels(cls, team: Any, problem: Problem, show: bool, **settings: Any) -> list[Any]:
        return [*super().kernels(team, problem, show), team.kernel(wrap, problem.dtype)]

    def sweep(self, slot: int | None) -> None:
        self.launch(self.all_rows, slot, self.stream)
        self._close(self.fields.new)

    def _close(self, field: Any) -> None:
        rows, pitch_bytes = self.fields.slab.rows, self.fields.pitch_bytes
        self._wrap(2, address(field), rows, 1, pitch_bytes, stream=self.stream, threads=512)

    def exchange(self) -> None:
        self._close(self.fields.old)
