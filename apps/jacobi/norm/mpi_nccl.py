"""The norm summed over the PEs by MPI or by NCCL, for the variants that are built on them."""

from typing import Any

import numpy as np

from ...program.device import Readback
from .norm import SLOTS, Norm


class MpiNorm(Norm):
    """Summed by MPI_Allreduce on the host, once this PE's words have been copied there."""

    def prepare(self) -> None:
        self.readbacks = [Readback(self.team, self.words[slot]) for slot in range(SLOTS)]

    def start(self, slot: int, stream: Any) -> None:
        self.readbacks[slot].start(stream)

    def arrived(self, slot: int) -> np.ndarray:
        mine = self.readbacks[slot].wait()
        sums = np.empty_like(mine)
        self.team.comm.Allreduce(mine, sums)
        return sums


class NcclNorm(Norm):
    """Summed by ncclAllReduce on a stream.  For these few bytes it takes longer than MPI_Allreduce."""

    def __init__(self, team: Any, nccl: Any):
        self._nccl = nccl
        super().__init__(team)

    def prepare(self) -> None:
        pass

    def start(self, slot: int, stream: Any) -> None:
        self._nccl.sum(self.words[slot], self.totals[slot], stream=stream)
        self.readbacks[slot].start(stream)
