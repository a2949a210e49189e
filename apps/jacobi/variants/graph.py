"""The sweeps of ``device.py``, several of them captured in a CUDA graph, which the host launches in one call.

Addresses are constants of a graph.  So there is one for each field to begin with, each number of sweeps, and each slot
that the norm may be summed in.
Read first: device.py.
"""

from collections.abc import Callable, Sequence
from typing import Any

from ..grid.problem import Problem
from .device import Device

SWEEPS = 16  # of a graph, at most


class Graph(Device):
    """If a norm is due in a graph, it is that of the last sweep."""

    max_sweeps = SWEEPS

    def __init__(self, team: Any, problem: Problem):
        super().__init__(team, problem)
        self._graphs: dict[tuple[int, int, int | None], Any] = {}
        for slot in (None, 0):  # a kernel must be loaded before it is captured; the fields are still zero
            self.sweep(slot)
        self.finish()  # on all PEs: whoever sets the fields next must find no such sweep under way

    @classmethod
    def refuse(cls, team: Any, problem: Problem) -> str:
        return "" if team.backend == "cuda" else "CUDA graphs need GPUs, and this is the host backend"

    def fit(self, due: Sequence[bool]) -> int:
        if self.norm.pending:  # if it ends the solve, one sweep more can be ignored, not several
            return 1
        return due.index(True) + 1 if any(due) else len(due)

    def step(self, due: Sequence[bool]) -> None:
        slot = self.norm.open() if due[-1] else None
        key = (self.fields.current, len(due), slot)
        if key not in self._graphs:
            self._graphs[key] = self._capture(len(due), slot)
        self._launch(self._graphs[key], stream=self.stream)
        self.fields.advance(len(due))
        if slot is not None:
            self.send_norm(slot)

    def _launch(self, graph: Any, stream: Any) -> None:
        graph.launch(stream)

    def note(self, wrap: Callable[[str, str, Any], Any]) -> None:
        self._launch = wrap("compute", "graph", self._launch)  # type: ignore[method-assign]

    def rehearse(self, due: Sequence[bool]) -> None:
        for one in (due, [False], [True]):  # those of one sweep follow a norm
            super().rehearse(one)

    def _capture(self, sweeps: int, slot: int | None) -> Any:
        with self.stream:
            self.stream.begin_capture()
            for k in range(sweeps):
                self.sweep(slot if k == sweeps - 1 else None)
                self.fields.advance()
            graph = self.stream.end_capture()
        self.fields.advance(-sweeps)
        return graph
