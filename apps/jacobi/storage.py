"""The field on PE 0, and in HDF5 files that are whole or absent and are read again on any number of PEs."""

from collections.abc import Iterator
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from ..program.outcome import Outcome
from ..program.whole_files import WRITE_ERRORS, in_words, write_whole
from .grid.problem import Problem
from .grid.slab import slabs

FORMAT = "pennympi jacobi 4"
CHUNK_BYTES = 64 << 20  # that PE 0 receives at a time, so that no PE has to hold all of the field
READ_ERRORS = (OSError, RuntimeError, KeyError, TypeError, ValueError)  # of h5py, too


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


def save(solver: Any, outcome: Outcome, path: Path) -> str:
    """Write the field and its history; an older file stays until the new one is on the disk.  Collective.

    Returns why the file could not be written, or "", on every PE.
    """
    comm, parts, error = solver.team.comm, gathered(solver), ""
    if comm.rank == 0:
        try:
            write_whole(path, lambda part: _write(part, solver.problem, outcome, parts))
        except WRITE_ERRORS as failure:
            error = in_words(failure)
    for _ in parts:  # the other PEs send their rows, also to a PE 0 that can't write them
        pass
    return str(comm.bcast(error))


def _write(path: Path, problem: Problem, outcome: Outcome, parts: Any) -> None:
    """Datasets /field (ny, nx), /residual/iteration and /residual/norm; as attributes the problem and the iterations."""
    with h5py.File(path, "w", locking=False) as file:  # some file systems have no locks, and none is needed
        data = file.create_dataset("field", (problem.ny, problem.nx), problem.dtype)
        for first, rows in parts:
            data[first : first + len(rows)] = rows
        data[0], data[problem.ny - 1] = data[problem.ny - 2], data[1]  # the rows are a ring
        file["residual/iteration"] = np.array([iteration for iteration, _ in outcome.history], np.int64)
        file["residual/norm"] = np.array([norm for _, norm in outcome.history], np.float64)
        file.attrs.update(asdict(problem) | {"format": FORMAT, "iterations": outcome.iterations})


def read(comm: Any, path: Path) -> tuple[Problem, Outcome]:
    """What a file solves, and how far.  Collective.  Raises ValueError that says what is wrong, the same on all PEs."""
    found, error = None, ""
    if comm.rank == 0:
        try:
            with h5py.File(path, locking=False) as file:
                found = _facts(file)
        except READ_ERRORS as failure:
            error = in_words(failure)
    found, error = comm.bcast((found, error))
    if error or found is None:
        raise ValueError(error)
    return found


def _facts(file: h5py.File) -> tuple[Problem, Outcome]:
    if file.attrs.get("format") != FORMAT:
        raise ValueError(f"it is no file of the format {FORMAT!r}: another program or version wrote it")
    kinds = {one.name: one.type for one in fields(Problem)}
    problem = Problem(**{name: kind(file.attrs[name]) for name, kind in kinds.items()})  # type: ignore[operator]
    data = file["field"]
    if data.shape != (problem.ny, problem.nx) or data.dtype != problem.dtype:
        raise ValueError(f"its /field is not {problem.ny} x {problem.nx} of {problem.dtype}")
    history = zip(file["residual/iteration"][:].tolist(), file["residual/norm"][:].tolist(), strict=True)
    return problem, Outcome(int(file.attrs["iterations"]), "iterations", list(history))


class Rows:
    """A global field (ny, nx) in a file.  An index reads the rows that it names and no others."""

    def __init__(self, data: h5py.Dataset):
        self._data = data

    def __getitem__(self, wanted: np.ndarray) -> np.ndarray:
        """Global rows ``wanted`` (n,), in that order, as (n, nx).  Adjacent rows are read together."""
        pieces = np.split(wanted, np.flatnonzero(np.diff(wanted) != 1) + 1)
        return np.concatenate([self._data[piece[0] : piece[-1] + 1] for piece in pieces])


def resume(solver: Any, path: Path) -> None:
    """Set the solver to the field in a file, of which each PE reads its rows.  Collective."""
    with h5py.File(path, locking=False) as file:
        solver.reset(Rows(file["field"]))
