"""The field on PE 0, a few rows at a time, so that no PE has to hold all of it."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from .grid.slab import slabs

CHUNK_BYTES = 64 << 20


def gathered(solver: Any) -> Iterator[tuple[int, np.ndarray]]:
    """On PE 0 (global number of the first row, rows (n, nx)) for the rows 1..ny-2 in order; on others nothing.

    Collective: every PE has to go through all of it.
    """
    comm, problem = solver.team.comm, solver.problem
    chunk = max(1, CHUNK_BYTES // (problem.nx * problem.item_bytes))
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
                yield slab.first + start, rows
