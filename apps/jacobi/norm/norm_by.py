"""The norm added up by others than the library, to compare with."""

from typing import Any

import numpy as np

from ..grid.device import Readback
from .norm import SLOTS, Norm


class MpiNorm(Norm):
    """By MPI_Allreduce on the host, which has to wait for the words first."""

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
    """By ncclAllReduce on a stream.  A collective made for bandwidth takes longer over some bytes than MPI does."""

    def __init__(self, team: Any, nccl: Any):
        self._nccl = nccl
        super().__init__(team)

    def prepare(self) -> None:
        pass

    def start(self, slot: int, stream: Any) -> None:
        self._nccl.sum(self.words[slot], self.totals[slot], stream=stream)
        self.readbacks[slot].start(stream)
