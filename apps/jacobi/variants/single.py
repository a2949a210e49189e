"""The whole problem on one PE: sweep all rows, then copy the first and last row into the halo.

Read first: ../textbook.py, then ../solver.py and ../kernels.py.
"""

from typing import Any

from ..solver import SweepBySweep


class Single(SweepBySweep):
    """What other variants are compared with."""

    @classmethod
    def refuse(cls, team: Any) -> str:
        return "" if team.n_pes == 1 else f"it is for one PE, and there are {team.n_pes}"

    def sweep(self, slot: int | None) -> None:
        new, rows = self.fields.new, self.fields.rows
        self.launch(1, rows + 1, slot, self.stream)
        with self.stream:
            new[0], new[rows + 1] = new[rows], new[1]
