"""NVSHMEM: sweep the rows, then put the edge rows, then a barrier, then sum the norm.

    stream   all rows | put up, then down | barrier | AllReduce of the norm | next sweep

In C these are nvshmemx_putmem_on_stream and nvshmemx_barrier_all_on_stream.  The loop runs on the device.
Read first: ../textbook.py, then ../device_loop.py.
"""

from typing import Any

from ..device_loop import DeviceLoop
from ..loop_kernels import Turn

sentence = "sweep, then puts of the edge rows and a barrier on the stream"


class Variant(DeviceLoop):
    """Puts in stream order.  The barrier completes them on all PEs before any PE begins the next sweep."""

    def sweep(self, stream: Any, turn: Turn) -> None:
        self.launch(stream, turn)
        self.exchange(stream)
        self.sum_norm(stream, turn)

    def exchange(self, stream: Any) -> None:
        """Put the edge rows into the neighbours' halos; then a barrier."""
        edges = self.fields.edges_of_new
        self.team.put(edges.halo_below, edges.first, self.fields.up, stream=stream)
        self.team.put(edges.halo_above, edges.last, self.fields.down, stream=stream)
        self.team.barrier(stream=stream)
