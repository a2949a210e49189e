"""The loop of the device on one PE, and with a barrier behind each sweep.  Read first: ``DeviceLoop`` in ../solver.py."""

from typing import Any

from ..loop_kernels import Turn
from ..solver import DeviceLoop


class Single(DeviceLoop):
    """What other variants are compared with: the first blocks copy the edge rows into the halo."""

    @classmethod
    def refuse(cls, team: Any) -> str:
        return "" if team.n_pes == 1 else f"it is for one PE, and there are {team.n_pes}"


class Nvshmem(DeviceLoop):
    """In C the barrier is nvshmemx_barrier_all_on_stream."""

    def sweep(self, stream: Any, turn: Turn) -> None:
        super().sweep(stream, turn)
        self.team.barrier(stream=stream)
