"""A sweep is one kernel, which also exchanges its edge rows; then all PEs meet.

    stream   sweep, put_signal to both neighbours | barrier

In C the barrier is nvshmemx_barrier_all_on_stream.
Read first: nvshmem_overlap.py.
"""

from typing import Any

from ..loop_kernels import Turn
from . import nvshmem_overlap

sentence = "the sweep puts its edge rows, then a barrier"


class Variant(nvshmem_overlap.Variant):
    """``nvshmem_overlap`` with a barrier after each sweep."""

    def sweep(self, stream: Any, turn: Turn) -> None:
        super().sweep(stream, turn)
        self.team.barrier(stream=stream)
