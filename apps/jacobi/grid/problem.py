"""The problem that a run solves."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Problem:
    """A grid of ny rows and nx columns, relaxed until the norm is at most tol.

    Columns 0 and nx-1 are fixed (Dirichlet).  Rows 1..ny-2 are a ring: row 0 repeats row ny-2 and row ny-1 repeats row 1.

    niter:   the largest number of sweeps
    nccheck: sweeps from one norm to the next
    bc:      "nvidia" or "periodic", see ``boundary.py``
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
