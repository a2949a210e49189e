"""The norm summed over the PEs by MPI, for the variants that use MPI or NCCL."""

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
