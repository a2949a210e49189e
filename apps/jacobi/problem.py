"""The problem that a run solves, and the fixed values of columns 0 and nx-1."""

import math
from dataclasses import dataclass

import numpy as np

BOUNDARIES = ("nvidia", "periodic")


@dataclass(frozen=True)
class Problem:
    """A grid of ny rows and nx columns, relaxed until the norm is at most tol.

    Columns 0 and nx-1 are fixed (Dirichlet).  Rows 1..ny-2 are a ring: row 0 repeats row ny-2 and row ny-1 repeats row 1.

    niter:   the largest number of sweeps
    nccheck: sweeps from one norm to the next
    bc:      "nvidia" or "periodic", see ``column``
    """

    nx: int
    ny: int
    niter: int = 1000
    tol: float = 1e-8
    nccheck: int = 1
    dtype: str = "float32"
    bc: str = "nvidia"

    @property
    def item_bytes(self) -> int:
        """Bytes of an element."""
        return np.dtype(self.dtype).itemsize

    @property
    def field_bytes(self) -> int:
        """Bytes of a whole field."""
        return self.ny * self.nx * self.item_bytes


def column(ny: int, kind: str, dtype: str) -> np.ndarray:
    """The boundary value of every row, (ny,) of dtype.

    nvidia:   sin(2 pi iy / (ny-1)), as in NVIDIA's sample, although the ring has ny-2 rows
    periodic: sin(2 pi (iy-1) / (ny-2)), of the ring's own period, so that an exact solution is known

    Each sine is computed alone: a vectorised one may round differently at the end of an array.
    """
    if kind == "nvidia":
        values = [math.sin(2.0 * math.pi * iy / (ny - 1)) for iy in range(ny)]
    else:
        values = [math.sin(2.0 * math.pi * (iy - 1) / (ny - 2)) for iy in range(ny)]
    return np.array(values, dtype=dtype)


def initial_field(ny: int, nx: int, kind: str, dtype: str) -> np.ndarray:
    """The field before the first sweep, (ny, nx): zero but for the fixed columns."""
    field = np.zeros((ny, nx), dtype)
    field[:, 0] = field[:, -1] = column(ny, kind, dtype)
    return field
