"""The round of ``stream.py`` as a CUDA graph, which the host launches in one call.  Read stream.py first.

Addresses are constants of a graph: a round begins in the same slots each time, and has an even number of iterations, so
that it begins with the same of the two fields of directions.
"""

from typing import Any

from .stream import Stream


class Graph(Stream):
    """The first round runs as it is and loads all kernels; the second is captured."""

    sentence = "as stream, a round of iterations in a CUDA graph (GPUs)"
    _rounds, _graph = 0, None

    @classmethod
    def why_not(cls, team: Any) -> str:
        return "" if team.backend == "cuda" else "CUDA graphs need GPUs, and this is the host backend"

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
