"""The best that conjugate gradients over NCCL were made to be: apps/poisson's variant ``nccl`` in a CUDA graph, its faces
packed by one kernel.  Importing this adds it to the table of variants."""

import halo_gpu

from apps.poisson.variants import TABLE, Row
from apps.poisson.variants.graph import InGraph
from apps.poisson.variants.nccl import Nccl

NAME = "nccl-graph"


class NcclGraph(InGraph, Nccl):
    """float64 only"""

    def prepare(self):
        self._nccl, self._exchanges = halo_gpu.communicator(self.team), {}

    def exchange(self, name):
        if name not in self._exchanges:
            self._exchanges[name] = halo_gpu.nccl(self.team, self.grid, self.fields[name])
        self._exchanges[name](self.stream)


TABLE[NAME] = Row(NAME, "as nccl, a round of iterations in a CUDA graph, faces packed by one kernel", NcclGraph, "GPUs")
