"""Restarts from a checkpoint or from the file of a finished run, on any number of PEs, with the same bits."""

from dataclasses import fields
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from ...program.outcome import Outcome
from ..grid.problem import Problem
from .gather import CHUNK_BYTES
from .seal import FORMAT, check_seal, row_checksums

READ_ERRORS = (OSError, RuntimeError, KeyError, TypeError, ValueError, AttributeError, OverflowError)  # of h5py, too


class Source:
    """A checked file, from which every PE reads only the rows that it needs.

    problem: what it solves;  outcome: the iterations done, and the history
    """

    def __init__(self, comm: Any, path: Path):
        """Open it and check every byte: each PE its share of the rows, and all the rest.  Collective.

        Raises ValueError that says what is wrong, the same on all PEs.
        """
        error = seal = ""
        try:
            seal = check_seal(path)
            self._file = h5py.File(path, locking=False)  # no process writes to it
            self.problem, self.outcome = _facts(self._file)
            for name in names(self.problem):
                _check_rows(self._file, name, comm.rank, comm.size)
        except READ_ERRORS as reason:
            error = str(reason)
        said = comm.allgather((error, seal))
        alike = len({one for _, one in said}) == 1
        for pe, (wrong, _) in enumerate(said):
            if wrong:
                raise ValueError(wrong if alike else f"PE {pe} says: {wrong}")
        if not alike:
            raise ValueError("PEs find different files of this name: all must see the same one")

    def __getitem__(self, name: str) -> "Rows":
        """A dataset (ny, nx)."""
        return Rows(self._file[name])

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def _facts(file: h5py.File) -> tuple[Problem, Outcome]:
    if file.attrs["format"] != FORMAT:
        raise ValueError(f"its format is not {FORMAT!r}")
    wanted = {one.name: one.type for one in fields(Problem)}
    problem = Problem(**{name: kind(file.attrs[name]) for name, kind in wanted.items()})  # type: ignore[operator]
    for name in names(problem):
        if name not in file and file.attrs["reason"] == "converged":
            raise ValueError("it holds a converged Chebyshev solve, without the field before the last: take a checkpoint")
        if file[name].shape != (problem.ny, problem.nx) or file[name].dtype != problem.dtype:
            raise ValueError(f"its /{name} is not {problem.ny} x {problem.nx} of {problem.dtype}")
    history = zip(file["residual/iteration"][:].tolist(), file["residual/norm"][:].tolist(), strict=True)
    return problem, Outcome(int(file.attrs["iterations"]), "iterations", list(history))


def _check_rows(file: h5py.File, name: str, part: int, parts: int) -> None:
    """Compare a part of the rows with their checksums."""
    data, sums = file[name], file[f"checksum/{name}"][:]
    ny, chunk = len(data), max(1, CHUNK_BYTES // (data.shape[1] * data.dtype.itemsize))
    first, last = ny * part // parts, ny * (part + 1) // parts
    for start in range(first, last, chunk):
        stop = min(start + chunk, last)
        wrong = np.flatnonzero(row_checksums(data[start:stop]) != sums[start:stop])
        if len(wrong):
            raise ValueError(f"it is damaged in row {start + wrong[0]} of /{name}")


def names(problem: Problem) -> list[str]:
    """The datasets that hold the state of a solve: the field, and for Chebyshev the field before it."""
    return ["field", "previous"] if problem.method == "chebyshev" else ["field"]


class Rows:
    """A global field (ny, nx) in a file.  An index reads the rows that it names and no others."""

    def __init__(self, data: h5py.Dataset):
        self._data = data

    def __getitem__(self, wanted: np.ndarray) -> np.ndarray:
        """Global rows ``wanted`` (n,), in that order, as (n, nx).  Adjacent rows are read together."""
        rows = np.empty((len(wanted), self._data.shape[1]), self._data.dtype)
        starts = [0, *(np.flatnonzero(np.diff(wanted) != 1) + 1).tolist(), len(wanted)]
        for start, stop in zip(starts, starts[1:], strict=False):
            if stop > start:
                self._data.read_direct(rows, np.s_[wanted[start] : wanted[start] + stop - start], np.s_[start:stop])
        return rows


def resume(solver: Any, source: Source) -> None:
    """Set the solver to the state in a file.  Collective."""
    solver.reset(source["field"])
    if solver.problem.method == "chebyshev":
        solver.steps.resume(source["previous"])
