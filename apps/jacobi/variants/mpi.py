"""MPI: sweep the rows, then exchange the edge rows, then sum the norm.

    stream   all rows | MPI_Sendrecv up, then down | norm

Read first: ../textbook.py, then ../host_loop.py.
"""

import os
import subprocess
from typing import Any

from mpi4py import MPI

from ..host_loop import HostLoop
from ..problem import Problem

sentence = "sweep, then MPI_Sendrecv of the edge rows"
UP, DOWN = 0, 1  # tags, because each of two PEs gets both rows from the other


class Variant(HostLoop):
    """MPI_Sendrecv of the edge rows and MPI_Allreduce of the norm; the host waits for both."""

    def __init__(self, team: Any, problem: Problem):
        super().__init__(team, problem)
        aware = team.comm.bcast(cuda_aware() if team.me == 0 else None)
        self._staged = team.backend == "cuda" and not aware
        if self._staged:
            import cupy
            import cupyx

            self._done = cupy.cuda.get_current_stream().synchronize
            row = self.fields.old[0]
            self._out, self._in = cupyx.empty_pinned(row.shape, row.dtype), cupyx.empty_pinned(row.shape, row.dtype)

    def exchange(self, stream: Any) -> None:
        """Send the first row up, into the halo below the rows, and the last row down."""
        self.team.synchronize(stream)
        field, up, down, rows = self.fields.new, self.fields.up, self.fields.down, self.fields.rows
        self._sendrecv(field[1], up, field[rows + 1], down, UP)
        self._sendrecv(field[rows], down, field[0], up, DOWN)

    def _sendrecv(self, row: Any, dest: int, halo: Any, source: int, tag: int) -> None:
        if not self._staged:
            self.team.comm.Sendrecv(row, dest, tag, halo, source, tag)
            return
        row.get(out=self._out)
        self.team.comm.Sendrecv(self._out, dest, tag, self._in, source, tag)
        halo.set(self._in)
        self._done()


def cuda_aware() -> bool:
    """True if this MPI takes addresses of device memory, by the word of MPICH or Open MPI."""
    if os.environ.get("MPICH_GPU_SUPPORT_ENABLED") == "1":
        return True
    if "Open MPI" not in MPI.Get_library_version():
        return False
    try:
        text = subprocess.run(["ompi_info", "--parsable", "--all"], capture_output=True, text=True, timeout=20).stdout
    except (OSError, subprocess.SubprocessError):
        return False
    return "mpi_built_with_cuda_support:value:true" in text
