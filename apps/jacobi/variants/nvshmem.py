"""One PE alone; NVSHMEM; and NVSHMEM with overlap, where the exchange of the edge rows is hidden behind the inner rows:

    first blocks   wait for the halos of the sweep before | edge rows | put_signal to both neighbours
    other blocks   inner rows ....................................................................... | norm (when due)

Read first: ../textbook.py, which does the same by two streams, then ../solver.py, ../kernels.py and ../loops.py.
"""

from typing import Any

from ..loop_kernels import Turn
from ..loops import DeviceLoop


class Single(DeviceLoop):
    """What other variants are compared with: the first blocks copy the edge rows into the halo."""

    @classmethod
    def refuse(cls, team: Any) -> str:
        return "" if team.n_pes == 1 else f"it is for one PE, and there are {team.n_pes}"


class Nvshmem(DeviceLoop):
    """A barrier behind each sweep, in C nvshmemx_barrier_all_on_stream."""

    def sweep(self, stream: Any, turn: Turn) -> None:
        super().sweep(stream, turn)
        self.team.barrier(stream=stream)


class NvshmemOverlap(DeviceLoop):
    """Signals between neighbours take the place of a barrier of all PEs."""
