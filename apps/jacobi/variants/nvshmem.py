"""NVSHMEM without overlap: sweep all rows, put the edge rows, and a barrier of all PEs, all on one stream.

Read first: ../textbook.py, then steps.py and ../grid/halo.py.
"""

from ..grid.halo import edge_puts
from .steps import SweepBySweep


class Nvshmem(SweepBySweep):
    """In C these calls are nvshmemx_float_put_on_stream and nvshmemx_barrier_all_on_stream."""

    def sweep(self, slot: int | None) -> None:
        self.launch(self.all_rows, slot, self.stream)
        for halo, row, pe in edge_puts(self.fields, self.fields.new):
            self.team.put(halo, row, pe, stream=self.stream)
        self.team.barrier(stream=self.stream)
