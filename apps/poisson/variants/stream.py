"""This library on a stream: plans for halos and sums, kernels between them, and no host.

Read first: steps.py.
"""

from typing import Any

from ..records import PAP, RR
from ..sums import NOW
from .steps import Steps


class Stream(Steps):
    """Each exchange of a halo is one launch, and so is each AllReduce of a few words."""

    def prepare(self) -> None:
        one = self.preconditioner
        self._exchanges = {name: self.grid.plan_exchange(self.fields[name]) for name in ("u", "even", one.of_field)}
        if "d" in self.fields.arrays:
            self._exchanges["d"] = self.grid.plan_exchange(self.fields["d"], corners=True)
        self._sums = {}
        for slot in range(self.problem.check + NOW + 1):
            for first, last in ((PAP, PAP), (RR, one.rz)):
                words, totals = self.sums.part(slot, first, last)
                self._sums[slot, first] = self.team.plan_allreduce(words, totals, op="sum")

    def exchange(self, name: str) -> None:
        self._exchanges[name](stream=self.stream)

    def sum_fields(self, mine: Any, total: Any) -> None:
        self.team.allreduce(mine, total, op="sum", stream=self.stream)

    def add_up(self, slot: int, first: int, last: int) -> None:
        self._sums[slot, first](stream=self.stream)
