"""Results and checkpoints as HDF5 files that are either complete or absent."""

import os
from dataclasses import asdict
from pathlib import Path

import h5py
import numpy as np

from ..grid.problem import Problem
from ..outcome import Outcome

FORMAT = "pennympi jacobi 2"
WRITE_ERRORS = (OSError, RuntimeError)  # h5py raises RuntimeError if it meets a full disk when it closes a file


class FieldFile:
    """Takes rows in any order; the file gets its name when it is complete, and replaces an older one only then.

    It holds the datasets /field and, for --method chebyshev, /previous (ny, nx): u[k] and u[k-1]; /residual/iteration and
    /residual/norm; and as attributes the problem, the iterations done and the reason for the end.
    """

    def __init__(self, path: Path, problem: Problem):
        self._path, self._part, self._problem = path, part_name(path), problem
        self._file = h5py.File(self._part, "w", locking=False)  # some file systems have no locks, and none is needed

    def write(self, name: str, first: int, rows: np.ndarray) -> None:
        """Write rows (n, nx), the first of which is global row ``first``, to dataset ``name``."""
        ny, nx = self._problem.ny, self._problem.nx
        data = self._file.require_dataset(name, (ny, nx), self._problem.dtype, exact=True)
        data[first : first + len(rows)] = rows
        if first == 1:
            data[ny - 1] = rows[0]  # the rows are a ring
        if first + len(rows) == ny - 1:
            data[0] = rows[-1]

    def finish(self, outcome: Outcome) -> None:
        """Add the attributes and the history, write all to the disk, and rename the file into place."""
        self._file.attrs.update(asdict(self._problem))
        self._file.attrs.update({"format": FORMAT, "iterations": outcome.iterations, "reason": outcome.reason})
        residual = self._file.create_group("residual")
        residual["iteration"] = np.array([iteration for iteration, _ in outcome.history], np.int64)
        residual["norm"] = np.array([norm for _, norm in outcome.history], np.float64)
        self._file.close()
        into_place(self._part, self._path)

    def discard(self) -> None:
        """Remove the incomplete file."""
        try:
            self._file.close()
        except WRITE_ERRORS:
            pass  # closing writes again what could not be written
        self._part.unlink(missing_ok=True)


def part_name(path: Path) -> Path:
    """The name under which ``path`` is written first: in the same folder, so that the rename is atomic."""
    return path.with_name(f".{path.name}.part")


def into_place(part: Path, path: Path) -> None:
    """Rename ``part`` to ``path``: after a crash at any moment there is the old file or the complete new one."""
    _to_disk(part)
    os.replace(part, path)
    _to_disk(path.parent)  # the folder's entry


def _to_disk(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def write_text(path: Path, text: str) -> None:
    """Write a text file completely, or not at all.  Raises OSError."""
    part = part_name(path)
    part.write_text(text)
    into_place(part, path)


def why_unwritable(path: Path) -> str:
    """Why a file cannot be written there, or "".  It tries, because permissions alone do not tell."""
    if path.is_dir():
        return "it is a folder"
    part = part_name(path)
    try:
        part.touch()
        part.unlink()
    except OSError as error:
        return (error.strerror or str(error)).lower()
    return ""
