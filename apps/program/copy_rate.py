"""How fast all PEs copy in their memory: what bandwidths are compared with."""

import time
from typing import Any

from mpi4py import MPI

COPY_TARGET_S = 0.2


def copy_rate(team: Any, source: Any, target: Any) -> float:
    """Bytes read and written a second, summed over all PEs, while each copies source to target.  Collective."""
    comm = team.comm

    def copies(count: int) -> float:
        comm.Barrier()
        start = time.perf_counter()
        for _ in range(count):
            target[...] = source
        _device_done(team)
        return comm.allreduce(time.perf_counter() - start, op=MPI.MAX)

    copies(1)
    one_s = max(copies(2) / 2, 1e-7)
    count = max(3, min(200, int(COPY_TARGET_S / one_s)))
    seconds = copies(count) / count
    return comm.allreduce(2 * source.nbytes, op=MPI.SUM) / seconds


def _device_done(team: Any) -> None:
    if team.backend == "cuda":
        import cupy

        cupy.cuda.get_current_stream().synchronize()
