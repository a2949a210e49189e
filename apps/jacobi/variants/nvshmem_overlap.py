"""A sweep is one kernel, which also exchanges its edge rows: the default.

    first blocks   wait for the halos of the sweep before | edge rows | put_signal to both neighbours
    other blocks   inner rows ..................................................................... | norm

The device makes the loop.  Two fields are enough, and no barrier is needed: see ../tiles.py.
Read first: ../textbook.py.  Then ``sweep`` in ../kernels.py, and ../device_loop.py.
"""

from typing import Any

from ...program.device import address
from ..device_loop import DeviceLoop
from ..loop_kernels import Turn
from ..problem import Problem
from ..tiles import Near, all_arrived, tiles_across

sentence = "edge rows, puts and signals to the neighbours beside the inner rows"


class Variant(DeviceLoop):
    """signals: a word for each of two exchanges, each side and each tile of a row, which counts exchanges"""

    def __init__(self, team: Any, problem: Problem):
        super().__init__(team, problem)
        fields, across = self.fields, tiles_across(problem.nx)
        self._signals = team.zeros(4 * across, "int64")
        self._near = Near(fields.up, fields.down, fields.taller, across, address(self._signals))
        self._all_arrived = team.kernel(all_arrived, "int64")

    def sweep(self, stream: Any, turn: Turn) -> None:
        self.launch(stream, turn, self._near)

    def finish_exchange(self, stream: Any) -> None:
        self._all_arrived(1, self._near, self.state, stream=stream, threads=32)

    def free(self) -> None:
        super().free()
        self.team.free(self._signals)
