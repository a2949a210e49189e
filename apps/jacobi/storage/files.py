"""Results and checkpoints as HDF5 files that are either complete or absent."""

from contextlib import suppress
from dataclasses import asdict
from pathlib import Path

import h5py
import numpy as np

from ...program.outcome import Outcome
from ...program.whole_files import WRITE_ERRORS, into_place, part_name
from ..grid.problem import Problem
from .seal import FORMAT, SEAL_BYTES, write_seal


class FieldFile:
    """Takes rows in any order; the file gets its name when it is complete, and replaces an older one only then.

    It holds the datasets /field and, for --method chebyshev, /previous (ny, nx): u[k] and u[k-1]; the checksums of their
    rows, /checksum/field and /checksum/previous (ny,); /residual/iteration and /residual/norm; and as attributes the
    problem, the iterations done and the reason for the end.  Its first bytes are a seal, see ``seal.py``.
    """

    def __init__(self, path: Path, problem: Problem):
        self._path, self._part, self._problem = path, part_name(path), problem
        try:  # without locks: some file systems have none, and none is needed
            self._file = h5py.File(self._part, "w", locking=False, userblock_size=SEAL_BYTES)
        except WRITE_ERRORS:
            self._remove()
            raise

    def write(self, name: str, first: int, rows: np.ndarray) -> None:
        """Write rows (n, nx), the first of which is global row ``first``, to dataset ``name``."""
        ny, nx = self._problem.ny, self._problem.nx
        data = self._file.require_dataset(name, (ny, nx), self._problem.dtype, exact=True)
        data[first : first + len(rows)] = rows
        if first == 1:
            data[ny - 1] = rows[0]  # the rows are a ring
        if first + len(rows) == ny - 1:
            data[0] = rows[-1]

    def add_checksums(self, name: str, sums: np.ndarray) -> None:
        """Write the checksums (ny-2,) of the rows 1..ny-2 of dataset ``name``."""
        self._file[f"checksum/{name}"] = np.array([sums[-1], *sums, sums[0]], np.uint32)  # the rows are a ring

    def finish(self, outcome: Outcome) -> None:
        """Add the attributes and the history, seal the file, write all to the disk, and rename the file into place."""
        self._file.attrs.update(asdict(self._problem))
        self._file.attrs.update({"format": FORMAT, "iterations": outcome.iterations, "reason": outcome.reason})
        residual = self._file.create_group("residual")
        residual["iteration"] = np.array([iteration for iteration, _ in outcome.history], np.int64)
        residual["norm"] = np.array([norm for _, norm in outcome.history], np.float64)
        data = {name: one.id for name, one in self._file.items() if isinstance(one, h5py.Dataset)}
        fields = {name: (one.get_offset(), one.get_storage_size()) for name, one in data.items()}
        self._file.close()
        write_seal(self._part, fields)
        into_place(self._part, self._path)

    def discard(self) -> None:
        """Remove the incomplete file."""
        with suppress(*WRITE_ERRORS):
            self._file.close()  # which writes again what could not be written
        self._remove()

    def _remove(self) -> None:
        with suppress(OSError):
            self._part.unlink(missing_ok=True)
