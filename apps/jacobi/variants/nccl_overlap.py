"""NCCL with overlap: the edge rows and their exchange on a high-priority stream, beside the inner rows.

    push stream   edge rows | ncclGroup: 2 sends, 2 receives
    stream        inner rows .............................. | norm

Read first: nccl.py.
"""

from typing import Any

from ..problem import Problem
from .nccl import Nccl


class NcclOverlap(Nccl):
    """One group serves both edge rows."""

    def __init__(self, team: Any, problem: Problem):
        super().__init__(team, problem)
        self.push = team.stream(priority="high")
        self._inner_done, self._pushed = self.stream.record(), self.push.record()

    def sweep(self, slot: int | None) -> None:
        self.push.wait_event(self._inner_done)
        self.launch_edges(slot, self.push)
        self.swap(self.fields.new, self.push)
        self._pushed = self.push.record(self._pushed)
        self.launch(2, self.fields.rows, slot, self.stream)
        self._inner_done = self.stream.record(self._inner_done)
        self.stream.wait_event(self._pushed)  # or the next sweep would overwrite rows that are still being sent
