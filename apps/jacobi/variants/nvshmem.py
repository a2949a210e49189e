"""NVSHMEM without overlap: sweep all rows, put the edge rows, and a barrier of all PEs, all on one stream.

Read first: ../textbook.py, then ../solver.py and ../fields.py.
"""

from ..solver import SweepBySweep


class Nvshmem(SweepBySweep):
    """In C these calls are nvshmemx_float_put_on_stream and nvshmemx_barrier_all_on_stream."""

    def sweep(self, slot: int | None) -> None:
        self.launch(1, self.fields.rows + 1, slot, self.stream)
        for halo, row, pe in self.fields.puts:
            self.team.put(halo, row, pe, stream=self.stream)
        self.team.barrier(stream=self.stream)
