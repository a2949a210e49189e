"""Temporal blocking: T sweeps in one pass over memory, with halos of T rows and one message for T sweeps.

    stream        | pass p: T sweeps, edge rows first, their exchange behind the inner rows | pass p+1 ...
    norm stream                                                                             | norms of pass p

The field has the same bits as after plain sweeps.  When a norm inside a pass ends the solve, the pass is done again with
fewer sweeps, from its first field.  The next pass has begun to write by then, so there are three fields.
Read first: device.py, then ../sweep/schedule.py and ../sweep/march_cuda_source.py (march_cuda_example.txt).
"""

from collections.abc import Sequence
from typing import Any

from ..grid.halo import Halo
from ..grid.problem import Problem
from ..grid.slab import slabs
from ..norm.exact_sum import MAX_SWEEPS
from ..norm.norm import Norm
from ..sweep.exchanging_kernel import exchanging_sweeps
from ..sweep.exchanging_sweeper import ExchangingSweeper
from ..sweep.schedule import fit, kinds_of_steps, norms
from ..sweep.sweeper import compiled
from .steps import Steps

SIZES = (8, 6, 4, 2, 1)  # sweeps of a pass, for which kernels are compiled
ROWS_PER_SWEEP = 4  # of a slab, at least: with fewer rows most of the work would be in the edges


def sizes_of(team: Any, problem: Problem, sweeps: int) -> list[int]:
    """How many sweeps a pass may do, in decreasing order.  sweeps: see ``Blocked``"""
    least = min(slab.rows for slab in slabs(problem.ny, team.n_pes))
    wanted = min(sweeps or least // ROWS_PER_SWEEP, least, MAX_SWEEPS)
    return [size for size in SIZES if size <= max(wanted, 1)]


class Blocked(Steps):
    """sweeps: T, the most sweeps of a pass; 0: T is chosen by the rows of a slab"""

    n_fields, depth, max_sweeps = 3, MAX_SWEEPS, MAX_SWEEPS

    def __init__(self, team: Any, problem: Problem, sweeps: int = 0):
        self.sizes = sizes_of(team, problem, sweeps)
        self.depth = self.max_sweeps = self.sizes[0]
        super().__init__(team, problem)
        self.stream, self.norm_stream = team.stream(), team.stream(priority="high")
        self._passed = self.stream.record()
        self._norm = Norm(team, self.max_sweeps)
        self._due: list[list[bool]] = []  # for each pass whose norms were not read yet
        self._read = 0  # sweeps of the pass whose norms were read last
        self._halo = Halo(team, self.fields, self.stream)
        self._pass = ExchangingSweeper(team, problem, self.fields, self.max_sweeps)

    @classmethod
    def kernels(cls, team: Any, problem: Problem, show: bool, **settings: Any) -> list[Any]:
        sizes = sizes_of(team, problem, settings.get("sweeps") or 0)
        passes = kinds_of_steps(problem, show, sizes[0], lambda due: fit(due, sizes))
        wanted = dict.fromkeys((len(due), norms(due)) for due in passes)
        return [compiled(team, exchanging_sweeps, problem, *one) for one in wanted]

    def fit(self, due: Sequence[bool]) -> int:
        return fit(due, self.sizes)

    def step(self, due: Sequence[bool]) -> None:
        slot = self._norm.open() if any(due) else None
        self._sweeps(len(due), norms(due), 0 if slot is None else self._norm.at[slot])
        if slot is not None:  # summed while the next pass runs
            self._due.append(list(due))
            self._passed = self.stream.record(self._passed)
            self.norm_stream.wait_event(self._passed)
            self._norm.start(slot, self.norm_stream)

    def _sweeps(self, count: int, which: str, words_at: int) -> None:
        self._pass(self.fields.new, self.fields.old, count, which, words_at, self.stream)
        self.fields.advance()

    def norms(self) -> list[float]:
        due = self._due.pop(0)
        self._read = len(due)
        return [norm for norm, wanted in zip(self._norm.wait(), due, strict=False) if wanted]

    def rollback(self, keep: int, later: int) -> None:
        self._norm.drop()
        self._due.clear()
        self.fields.advance(-later)
        if keep == self._read:
            return
        self.fields.advance(-1)  # to the field that the pass started from
        while keep:
            count = next(size for size in self.sizes if size <= keep)
            self._sweeps(count, "none", 0)
            keep -= count

    def exchange(self) -> None:
        self._halo.send(self.fields.old)
        self._halo.receive()

    def synchronize(self) -> None:
        for stream in (self.stream, self.norm_stream):
            self.team.synchronize(stream)

    def finish(self) -> None:
        self.team.barrier(stream=self.stream)  # the neighbours' last rows may still be in flight
        self.synchronize()

    def free(self) -> None:
        super().free()
        self._norm.free()
