"""Restarts from a checkpoint or from the file of a finished run, on any number of PEs, with the same bits."""

from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from ..grid.problem import Problem
from ..outcome import Outcome
from .files import FORMAT


@dataclass(frozen=True)
class Saved:
    """The problem that a file holds, and how far its solve has come."""

    problem: Problem
    outcome: Outcome


def read(path: Path) -> Saved:
    """Read the problem, the iterations done and the history.  Raises ValueError that says what is wrong with the file."""
    try:
        with h5py.File(path, locking=False) as file:
            return _facts(file)
    except FileNotFoundError:
        raise ValueError("there is no such file") from None
    except (OSError, KeyError, TypeError) as error:
        raise ValueError(f"it is not a whole checkpoint of this program ({error})") from None


def _facts(file: h5py.File) -> Saved:
    if file.attrs.get("format") != FORMAT:
        raise ValueError(f"it was not written by this version of the program (its format is not {FORMAT!r})")
    wanted = {one.name: one.type for one in fields(Problem)}
    problem = Problem(**{name: kind(file.attrs[name]) for name, kind in wanted.items()})  # type: ignore[operator]
    for name in names(problem):
        if name not in file and file.attrs["reason"] == "converged":
            raise ValueError("it holds a converged Chebyshev solve, without the field before the last: take a checkpoint")
        if file[name].shape != (problem.ny, problem.nx) or file[name].dtype != problem.dtype:
            raise ValueError(f"its /{name} is not {problem.ny} x {problem.nx} of {problem.dtype}")
    history = zip(file["residual/iteration"][:].tolist(), file["residual/norm"][:].tolist(), strict=True)
    return Saved(problem, Outcome(int(file.attrs["iterations"]), "iterations", list(history)))


def names(problem: Problem) -> list[str]:
    """The datasets that hold the state of a solve: the field, and for Chebyshev the field before it."""
    return ["field", "previous"] if problem.method == "chebyshev" else ["field"]


class Source:
    """A file from which every PE reads only the rows that it needs."""

    def __init__(self, comm: Any, path: Path):
        """Open it on every PE.  Collective.  Raises ValueError on all PEs if one of them cannot open it."""
        error, self._file = "", None
        try:
            self._file = h5py.File(path, locking=False)  # it is complete, and no process writes to it
        except OSError as reason:
            error = f"PE {comm.rank} cannot read it ({reason}): every PE must be able to read the file"
        errors = [one for one in comm.allgather(error) if one]
        if errors:
            self.close()
            raise ValueError(errors[0])

    def __getitem__(self, name: str) -> "Rows":
        """A dataset (ny, nx)."""
        assert self._file is not None
        return Rows(self._file[name])

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()


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
