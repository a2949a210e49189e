"""Temporal blocking: T sweeps in one pass over memory, with halos of T rows and one message for T sweeps.

    stream        | pass p: T sweeps, edge rows first, their exchange beside the inner rows | pass p+1 ...
    norm stream                                                                             | norms of pass p

The field has the same bits as after plain sweeps.  When a norm inside a pass ends the solve, the pass is done again with
fewer sweeps, from its first field.  The next pass has begun to write by then, so there are three fields.
Read first: ../sweep/exchanging_kernel.py, ../sweep/schedule.py, ../sweep/march_cuda_source.py (march_cuda_example.txt).
"""

from collections.abc import Sequence
from typing import Any

from ..grid.problem import Problem
from ..grid.slab import slabs
from ..norm.exact_sum import MAX_SWEEPS
from ..sweep.schedule import fit, norms
from ..sweep.sweeper import ExchangingSweeper
from .steps import Steps

SIZES = (8, 6, 4, 2, 1)  # sweeps of a pass, for which kernels are compiled
ROWS_PER_SWEEP = 4  # of a slab, at least: with fewer rows most of the work would be in the edges


class Blocked(Steps):
    """sweeps: T, the most sweeps of a pass; 0: T is chosen by the rows of a slab"""

    n_fields, depth, max_sweeps = 3, MAX_SWEEPS, MAX_SWEEPS

    def __init__(self, team: Any, problem: Problem, sweeps: int = 0):
        least = min(slab.rows for slab in slabs(problem.ny, team.n_pes))
        most = max(1, min(sweeps or least // ROWS_PER_SWEEP, least, MAX_SWEEPS))
        self.sizes = [size for size in SIZES if size <= most]
        self.depth = self.max_sweeps = self.sizes[0]
        super().__init__(team, problem)
        self._due: list[list[bool]] = []  # for each pass whose norms were not read yet
        self._read = 0  # sweeps of the pass whose norms were read last
        self._pass = ExchangingSweeper(team, problem, self.fields)

    def fit(self, due: Sequence[bool]) -> int:
        return fit(due, self.sizes)

    def step(self, due: Sequence[bool]) -> None:
        slot = self.norm.open() if any(due) else None
        self._sweeps(len(due), norms(due), 0 if slot is None else self.norm.at[slot])
        if slot is not None:
            self._due.append(list(due))
            self.send_norm(slot)

    def _sweeps(self, count: int, which: str, words_at: int) -> None:
        self._pass(self.fields.new, self.fields.old, count, which, words_at, self.stream)
        self.fields.advance()

    def norms(self) -> list[float]:
        due = self._due.pop(0)
        self._read = len(due)
        return [norm for norm, wanted in zip(self.norm.wait(), due, strict=False) if wanted]

    def rollback(self, keep: int, later: int) -> None:
        super().rollback(keep, later)
        self._due.clear()
        if keep == self._read:
            return
        self.fields.advance(-1)  # to the field that the pass started from
        while keep:
            count = next(size for size in self.sizes if size <= keep)
            self._sweeps(count, "none", 0)
            keep -= count

    def finish(self) -> None:
        self.team.barrier(stream=self.stream)  # the neighbours' last rows may still be in flight
        super().finish()
