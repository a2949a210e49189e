"""MPI: sweep the rows, exchange the edge rows when they are done, sum the norm.  With overlap:

    push stream   edge rows  | MPI_Sendrecv up, then down
    stream        inner rows ............................ | norm

Read first: ../textbook.py, then ../solver.py.
"""

import os
import subprocess
from typing import Any

from mpi4py import MPI

from ..fields import Fields
from ..problem import Problem
from ..solver import HostLoop

UP, DOWN = 0, 1  # tags: with two PEs both rows come from the same PE


class MpiRows:
    """Exchanges rows with both neighbours.  The device must have written them; the host waits until they have arrived."""

    def __init__(self, fields: Fields):
        self._up, self._down, self._rows, self._comm = fields.up, fields.down, fields.rows, fields.team.comm
        aware = self._comm.bcast(cuda_aware() if self._comm.rank == 0 else None)
        self._staged = fields.team.backend == "cuda" and not aware
        if self._staged:
            import cupy
            import cupyx

            self._done = cupy.cuda.get_current_stream().synchronize
            row = fields.old[0]
            self._out, self._in = cupyx.empty_pinned(row.shape, row.dtype), cupyx.empty_pinned(row.shape, row.dtype)

    def exchange(self, field: Any) -> None:
        """Send the first row up, where it becomes the lower halo, and the last one down.  Collective."""
        self._sendrecv(field[1], self._up, field[self._rows + 1], self._down, UP)
        self._sendrecv(field[self._rows], self._down, field[0], self._up, DOWN)

    def _sendrecv(self, row: Any, dest: int, halo: Any, source: int, tag: int) -> None:
        if not self._staged:
            self._comm.Sendrecv(row, dest, tag, halo, source, tag)
            return
        row.get(out=self._out)
        self._comm.Sendrecv(self._out, dest, tag, self._in, source, tag)
        halo.set(self._in)
        self._done()


def cuda_aware() -> bool:
    """Whether this MPI takes addresses of device memory, as far as MPICH or Open MPI say so."""
    if os.environ.get("MPICH_GPU_SUPPORT_ENABLED") == "1":
        return True
    if "Open MPI" not in MPI.Get_library_version():
        return False
    try:
        text = subprocess.run(["ompi_info", "--parsable", "--all"], capture_output=True, text=True, timeout=20).stdout
    except (OSError, subprocess.SubprocessError):
        return False
    return "mpi_built_with_cuda_support:value:true" in text


class Mpi(HostLoop):
    """MPI_Sendrecv of the edge rows and MPI_Allreduce of the norm; the host waits for both."""

    def __init__(self, team: Any, problem: Problem):
        super().__init__(team, problem)
        self._rows = MpiRows(self.fields)

    def exchange(self, stream: Any) -> None:
        self.team.synchronize(stream)
        self._rows.exchange(self.fields.new)


class MpiOverlap(Mpi):
    """The same beside the inner rows."""

    overlaps = True
