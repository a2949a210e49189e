"""The field on PE 0, a few rows at a time, so that no PE has to hold all of it."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..grid.slab import slabs
from .seal import row_checksums

CHUNK_BYTES = 64 << 20
Sink = Callable[[int, np.ndarray], None]  # takes (global number of the first row, rows (n, nx))
RowsOf = Callable[[int, int], np.ndarray]  # (start, stop) -> rows start..stop of this PE's slab as NumPy


def gather(solver: Any, sinks: Sequence[Sink], rows_of: RowsOf | None = None) -> None:
    """Pass the rows 1..ny-2, in order, to every sink on PE 0.  Collective.

    rows_of: ``solver.rows`` by default
    """
    comm, problem, rows_of = solver.team.comm, solver.problem, rows_of or solver.rows
    chunk = max(1, CHUNK_BYTES // problem.row_bytes)
    for pe, slab in enumerate(slabs(problem.ny, comm.size)):
        for start in range(0, slab.rows, chunk):
            stop = min(start + chunk, slab.rows)
            if comm.rank == pe:
                rows = np.ascontiguousarray(rows_of(start, stop))
                if pe != 0:
                    comm.Send(rows, dest=0)
            elif comm.rank == 0:
                rows = np.empty((stop - start, problem.nx), problem.dtype)
                comm.Recv(rows, source=pe)
            if comm.rank == 0:
                for sink in sinks:
                    sink(slab.first + start, rows)


def gather_checksums(solver: Any, rows_of: RowsOf) -> np.ndarray | None:
    """The checksums (ny-2,) of the rows 1..ny-2 on PE 0, None on the others.  Each PE computes its own.  Collective."""
    comm, problem, total = solver.team.comm, solver.problem, solver.slab.rows
    chunk = max(1, CHUNK_BYTES // problem.row_bytes)
    mine = [row_checksums(rows_of(start, min(start + chunk, total))) for start in range(0, total, chunk)]
    said = comm.gather(np.concatenate(mine))
    return np.concatenate(said) if comm.rank == 0 else None
