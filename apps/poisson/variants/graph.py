"""The round of ``stream.py`` as a CUDA graph, which the host launches in one call.

Addresses are constants of a graph: a round begins in the same slots each time, and has an even number of iterations, so
that it begins with the same of the two fields of directions.
Read first: stream.py.
"""

from typing import Any

from ..problem import Problem
from .stream import Stream


class Graph(Stream):
    """The first round runs without a graph, so that all kernels are loaded; the second one is captured."""

    _rounds, _graph = 0, None

    @classmethod
    def refuse(cls, team: Any, problem: Problem) -> str:
        return "" if team.backend == "cuda" else "CUDA graphs need GPUs, and this is the host backend"

    def round(self) -> None:
        self._rounds += 1
        if self._rounds == 1:
            super().round()
            return
        if self._graph is None:
            with self.stream:
                self.stream.begin_capture()
                super().round()
                self._graph = self.stream.end_capture()
        self._graph.launch(stream=self.stream)
