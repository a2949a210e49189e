"""One kernel does a sweep and its exchange: blocks of the edge rows put them into the neighbours' halos, others sweep on.

    stream        | sweep k, with its exchange | sweep k+1, with its exchange | ...
    norm stream                                | AllReduce of norm k, copied to the host

The norm of a sweep is summed while the next sweep runs, which hides its time.
Read first: nvshmem_overlap.py, then ../sweep/exchanging_kernel.py and ../sweep/exchanging_sweeper.py.
"""

from typing import Any

from ..grid.problem import Problem
from ..sweep.exchanging_kernel import exchanging_sweeps
from ..sweep.exchanging_sweeper import ExchangingSweeper
from .steps import WithHalo


class Device(WithHalo):
    """``../sweep/exchanging_sweeper.py`` says why two fields are enough."""

    def __init__(self, team: Any, problem: Problem):
        super().__init__(team, problem)
        self._pass = ExchangingSweeper(team, problem, self.fields, 1)

    @classmethod
    def sweeping(cls) -> Any:
        return exchanging_sweeps

    def sweep(self, slot: int | None) -> None:
        norms, words_at = ("none", 0) if slot is None else ("last", self.norm.at[slot])
        self._pass(self.fields.new, self.fields.old, 1, norms, words_at, self.stream)

    def finish(self) -> None:
        self.team.barrier(stream=self.stream)  # the neighbours' last rows may still be in flight
        self.synchronize()
