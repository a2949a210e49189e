"""A sweep is one kernel, which also exchanges its edge rows.

    first blocks   wait for the halos of the last sweep | edge rows | put_signal to both neighbours
    other blocks   inner rows ..................................................................... | AllReduce

The loop runs on the device.  Two fields are enough, and no barrier is needed: see ../tiles.py.
Read first: nvshmem_overlap.py.  Then ``sweep`` in ../kernels.py.
"""

from typing import Any

from ...program.device import address
from ..device_loop import DeviceLoop
from ..loop_kernels import Turn
from ..problem import Problem
from ..tiles import Neighbours, all_arrived, tiles_across

sentence = "one kernel: its first blocks wait for the halos, sweep, put and signal"


class Variant(DeviceLoop):
    """_signals: (2, 2, tiles of a row) counts of exchanges: for odd and even exchanges, each side, and each tile"""

    def __init__(self, team: Any, problem: Problem):
        super().__init__(team, problem)
        fields, across = self.fields, tiles_across(problem.nx)
        self._signals = team.zeros(4 * across, "int64")
        self._neighbours = Neighbours(fields.up, fields.down, fields.rows_above, across, address(self._signals))
        self._all_arrived = team.kernel(all_arrived, "int64")

    def sweep(self, stream: Any, turn: Turn) -> None:
        self.launch(stream, turn, self._neighbours)
        self.sum_norm(stream, turn)

    def finish_exchange(self, stream: Any) -> None:
        self._all_arrived(1, self._neighbours, self.state, stream=stream, threads=32)

    def free(self) -> None:
        super().free()
        self.team.free(self._signals)
