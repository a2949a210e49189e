"""The whole problem on one PE: sweep all rows, then copy the first and last row into the halo.

Read first: ../textbook.py, then ../solver.py and ../kernels.py.
"""

from typing import Any

from ...program.device import address
from ..kernels import COLUMNS, THREADS, wrap
from ..problem import Problem
from ..solver import SweepBySweep


class Single(SweepBySweep):
    """What other variants are compared with."""

    @classmethod
    def refuse(cls, team: Any) -> str:
        return "" if team.n_pes == 1 else f"it is for one PE, and there are {team.n_pes}"

    def __init__(self, team: Any, problem: Problem, alone: bool = False):
        super().__init__(team, problem, alone)
        self._wrap = team.kernel(wrap, problem.dtype, THREADS)

    def sweep(self, slot: int | None) -> None:
        self.launch(1, self.fields.rows + 1, slot, self.stream)
        new, rows, nx = self.fields.new, self.fields.rows, self.problem.nx
        self._wrap(-(-nx // COLUMNS), address(new), rows, nx, new.strides[0], stream=self.stream, threads=THREADS)
