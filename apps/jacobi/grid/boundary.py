"""The fixed values of columns 0 and nx-1."""

import math

import numpy as np

KINDS = ("nvidia", "periodic")


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
