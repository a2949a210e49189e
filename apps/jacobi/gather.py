"""The field, a few rows at a time, on PE 0: no PE ever holds all of it."""

from collections.abc import Callable, Sequence

import numpy as np

from .slab import slabs
from .solver import Solver

CHUNK_BYTES = 64 << 20
Sink = Callable[[int, np.ndarray], None]  # (global number of the first row, rows (n, nx))


def gather(solver: Solver, sinks: Sequence[Sink]) -> None:
    """Hand the inner rows, in order, to every sink on PE 0.  Collective."""
    comm, problem = solver.team.comm, solver.problem
    chunk = max(1, CHUNK_BYTES // problem.pitch_bytes)
    for pe, slab in enumerate(slabs(problem.ny, comm.size)):
        for start in range(0, slab.rows, chunk):
            stop = min(start + chunk, slab.rows)
            if comm.rank == pe:
                rows = np.ascontiguousarray(solver.rows(start, stop))
                if pe != 0:
                    comm.Send(rows, dest=0)
            elif comm.rank == 0:
                rows = np.empty((stop - start, problem.nx), problem.dtype)
                comm.Recv(rows, source=pe)
            if comm.rank == 0:
                for sink in sinks:
                    sink(slab.first + start, rows)
