"""Measurements to compare a run with: a plain copy of the field, and the halo exchange alone."""

import time
from typing import Any

from mpi4py import MPI

from ..solver import Solver

COPY_TARGET_S = 0.2
EXCHANGES = 200


def copy_bandwidth(solver: Solver) -> float:
    """Bytes read and written a second, summed over all PEs, while each copies its slab.  Collective.

    It overwrites ``fields.new``.
    """
    fields = solver.steps.fields
    return copy_rate(solver.team, fields.used(fields.old), fields.used(fields.new))


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


def exchange_seconds(solver: Solver) -> float:
    """Seconds of one halo exchange that no computation hides, on the slowest PE.  Collective."""
    comm = solver.team.comm
    for count in (10, EXCHANGES):
        comm.Barrier()
        start = time.perf_counter()
        for _ in range(count):
            solver.exchange()
        solver.synchronize()
        seconds = time.perf_counter() - start
    return comm.allreduce(seconds, op=MPI.MAX) / EXCHANGES


def _device_done(team: Any) -> None:
    if team.backend == "cuda":
        import cupy

        cupy.cuda.get_current_stream().synchronize()
