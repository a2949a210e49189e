"""The best that conjugate gradients over NCCL were made to be: apps/poisson's variant ``nccl`` in a CUDA graph, its faces
packed by one kernel.  Importing this adds it to the table of variants."""

import halo_gpu

from apps.poisson.variants import TABLE, Row
from apps.poisson.variants.nccl import Nccl

NAME = "nccl-graph"


class NcclGraph(Nccl):
    """The first round runs without a graph, so that everything is loaded; the second one is captured.  float64 only"""

    _rounds, _graph = 0, None

    def prepare(self):
        self._nccl, self._exchanges = halo_gpu.communicator(self.team), {}

    def exchange(self, name):
        if name not in self._exchanges:
            self._exchanges[name] = halo_gpu.nccl(self.team, self.grid, self.fields[name])
        self._exchanges[name](self.stream)

    def round(self):
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


TABLE[NAME] = Row(NAME, "as nccl, a round of iterations in a CUDA graph, faces packed by one kernel", NcclGraph, "GPUs")
