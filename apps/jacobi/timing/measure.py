"""Measurements to compare a run with: a plain copy of the field, and the halo exchange alone."""

import time

from mpi4py import MPI

from ...program.copy_rate import copy_rate
from ..solver import Solver

EXCHANGES = 200


def copy_bandwidth(solver: Solver) -> float:
    """Bytes read and written a second, summed over all PEs, while each copies its slab.  Collective.

    It overwrites ``fields.new``.
    """
    fields = solver.steps.fields
    return copy_rate(solver.team, fields.used(fields.old), fields.used(fields.new))


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
