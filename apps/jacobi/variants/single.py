"""The whole problem on one PE: sweep all rows, then copy the first and last row into the halo.

Read first: ../textbook.py, then steps.py and ../sweep/kernels.py.
"""

from typing import Any

from ...program.device import address
from ..grid.problem import Problem
from ..sweep.kernels import wrap
from .steps import SweepBySweep


class Single(SweepBySweep):
    """What other variants are compared with."""

    def __init__(self, team: Any, problem: Problem):
        super().__init__(team, problem)
        self._wrap = team.kernel(wrap, problem.dtype)

    @classmethod
    def refuse(cls, team: Any) -> str:
        return "" if team.n_pes == 1 else f"it is for one PE, and there are {team.n_pes}"

    def sweep(self, slot: int | None) -> None:
        self.launch(self.all_rows, slot, self.stream)
        rows, pitch_bytes = self.fields.slab.rows, self.fields.pitch_bytes
        self._wrap(2, address(self.fields.new), rows, 1, pitch_bytes, stream=self.stream, threads=512)
