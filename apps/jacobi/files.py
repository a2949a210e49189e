"""The result as an HDF5 file that is either whole or not there."""

import os
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from .problem import Problem


class FieldFile:
    """Rows are written as they come; the file takes its name when all are there.

    /field (ny, nx), /residual/iteration, /residual/norm, and what ``finish`` gets as attributes
    """

    def __init__(self, path: Path, problem: Problem):
        self._path, self._part = path, part_name(path)
        self._file = h5py.File(self._part, "w")
        self._field = self._file.create_dataset("field", (problem.ny, problem.nx), problem.dtype)

    def __call__(self, first: int, rows: np.ndarray) -> None:
        """Write rows (n, nx) at global row ``first``."""
        self._field[first : first + len(rows)] = rows

    def finish(self, attributes: dict[str, Any], history: list[tuple[int, float]]) -> None:
        """Close the ring, add the history, and rename into place."""
        self._field[0], self._field[-1] = self._field[-2], self._field[1]
        self._file.attrs.update(attributes)
        residual = self._file.create_group("residual")
        residual["iteration"] = np.array([iteration for iteration, _ in history], np.int64)
        residual["norm"] = np.array([norm for _, norm in history], np.float64)
        self._file.close()
        with open(self._part, "rb") as file:
            os.fsync(file.fileno())
        os.replace(self._part, self._path)

    def discard(self) -> None:
        """Leave nothing behind."""
        self._file.close()
        self._part.unlink(missing_ok=True)


def part_name(path: Path) -> Path:
    """Where a file is written before it takes its name: beside it, so that the rename is atomic."""
    return path.with_name(f".{path.name}.part")


def write_text(path: Path, text: str) -> None:
    """Write a text file, whole or not at all."""
    part = part_name(path)
    part.write_text(text)
    os.replace(part, path)


def why_unwritable(path: Path) -> str:
    """Why a file cannot be written there, or ""; tried, because permissions alone do not tell."""
    if path.is_dir():
        return "it is a folder"
    part = part_name(path)
    try:
        part.touch()
        part.unlink()
    except OSError as error:
        return (error.strerror or str(error)).lower()
    return ""
