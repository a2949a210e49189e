"""Random data with a known exact reduction, whatever the order of the operations.

The values are small whole numbers, so that every dtype holds each partial result exactly.  They repeat with a prime
period, which differs from the size of any piece of a message, so that a piece at a wrong position is detected.  Every PE
can compute the values of all PEs.
"""

from collections.abc import Iterator
from importlib import import_module
from typing import Any

import numpy as np

from ..arrays.dtypes import DType

PERIOD, PERIODS = 8191, 128  # elements of a period; number of periods that are compared at once
REDUCED = -1  # row number of the reduction; the other row numbers are PEs
REDUCTIONS: dict[str, Any] = {"sum": np.add, "prod": np.multiply, "min": np.minimum, "max": np.maximum, "avg": np.add}


class Pattern:
    """The input of every PE, and the reduction of all inputs, for a dtype and an op.

    seed: the same on every PE
    Elements are copied and compared as bits, since CuPy has no arithmetic for some dtypes.
    """

    def __init__(self, dtype: DType, op: str, n_pes: int, seed: int):
        self._bits = f"uint{8 * dtype.item_bytes}"
        inputs = _inputs(dtype.kind != "u", op, n_pes, np.random.default_rng(seed))
        reduced = REDUCTIONS[op].reduce(inputs, axis=0) // (n_pes if op == "avg" else 1)
        rows = dict(enumerate(inputs)) | {REDUCED: reduced}
        self._rows = {row: values.astype(dtype.numpy).view(self._bits) for row, values in rows.items()}
        self._tiles: dict[tuple[type, int], Any] = {}  # {(type of array, row): elements}

    def fill(self, x: Any, row: int) -> None:
        """Set x (n,) to the elements of a row."""
        for part, values in self._parts(x, row, 0):
            part[:] = values

    def count_wrong(self, x: Any, row: int, first: int = 0) -> int:
        """Number of elements of x (n,) that differ in any bit from those of the row from ``first`` on."""
        return sum(int((part != values).sum()) for part, values in self._parts(x, row, first))

    def _parts(self, x: Any, row: int, first: int) -> Iterator[tuple[Any, Any]]:
        key, bits, start = (type(x), row), x.view(self._bits), first % PERIOD
        if key not in self._tiles:
            tiles = np.resize(self._rows[row], (PERIODS + 1) * PERIOD)
            self._tiles[key] = tiles if isinstance(x, np.ndarray) else import_module("cupy").asarray(tiles)
        for low in range(0, x.size, PERIODS * PERIOD):
            part = bits[low : low + PERIODS * PERIOD]
            yield part, self._tiles[key][start : start + part.size]


def _inputs(signed: bool, op: str, n_pes: int, rng: np.random.Generator) -> np.ndarray:
    """(n_pes, PERIOD) int64: the input of each PE."""
    shape = (n_pes, PERIOD)
    if op == "prod":
        values = rng.choice([1, -1, 2, 1] if signed else [1, 2, 1, 1], shape)
        values[8:] = abs(values[8:]) // values[8:]  # so that products are at most 2**8
        return values
    limit = 100 if op in ("min", "max") else max(1, 100 // n_pes)
    values = rng.integers(-limit if signed else 0, limit + 1, shape)
    if op == "avg":
        values[-1] += -values.sum(axis=0) % n_pes  # the sum is a multiple of n_pes
    return values
