"""The round of ``stream.py``, or of another variant, as a CUDA graph, which the host launches in one call.

Addresses are constants of a graph: a round begins in the same slots each time, and has an even number of iterations, so
that it begins with the same of the two fields of directions.
Read first: stream.py.
"""

from typing import Any

from ..problem import Problem
from .steps import Steps
from .stream import Stream


class InGraph(Steps):
    """For a variant whose rounds have no host: the first one runs as it is and loads all, the second is captured."""

    _rounds, _graph = 0, None

    def round(self) -> None:
        self._rounds += 1
        if self._rounds == 1:
            super().round()
            return
        if self._graph is None:
            with self.stream:
                self.stream.begin_capture()
                try:
                    super().round()
                finally:  # a capture that has failed ends, too
                    self._graph = self.stream.end_capture()
        self._graph.launch(stream=self.stream)


class Graph(InGraph, Stream):
    """``stream`` in a graph."""

    @classmethod
    def refuse(cls, team: Any, problem: Problem) -> str:
        return "" if team.backend == "cuda" else "CUDA graphs need GPUs, and this is the host backend"
