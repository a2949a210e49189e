"""Random data whose exact reduction is known, whatever the order of the operations.

The values are small whole numbers, so that every dtype holds each partial result exactly.  They repeat with a prime
period, which no piece of a message has, so that a piece in a wrong place is detected.  Every PE can compute the values
of all PEs.
"""

from typing import Any

import numpy as np

from ..arrays.dtypes import DType

PERIOD = 8191
REDUCED = -1  # the row of the reduction; the other rows are numbers of PEs


class Pattern:
    """The input of every PE, and the reduction of all inputs, for one dtype and op.

    xp: module of the arrays, numpy or cupy
    seed: the same on every PE
    Elements are copied and compared as bits, because CuPy has no arithmetic for some dtypes.
    """

    def __init__(self, xp: Any, dtype: DType, op: str, n_pes: int, seed: int):
        self._xp, self._dtype, self._bits = xp, dtype, f"uint{8 * dtype.item_bytes}"
        self._periods = 32 if xp is np else 512  # that are compared together
        given = _inputs(dtype, op, n_pes, np.random.default_rng(seed))
        self._rows = {pe: row.astype(dtype.numpy) for pe, row in enumerate(given)}
        self._rows[REDUCED] = _reduced(given, op).astype(dtype.numpy)
        self._tiles: dict[int, Any] = {}

    def fill(self, x: Any, row: int, first: int = 0) -> None:
        """Set x (n,) to the elements from ``first`` on of a row."""
        for part, values in self._parts(x, row, first):
            part[:] = values

    def count_wrong(self, x: Any, row: int, first: int = 0) -> int:
        """The number of elements of x (n,) that differ, in any bit, from those of the row from ``first`` on."""
        differing = [self._xp.count_nonzero(part != values) for part, values in self._parts(x, row, first)]
        return int(sum(differing)) if differing else 0

    def _parts(self, x: Any, row: int, first: int) -> Any:
        tile, start, chunk = self._tile(row), first % PERIOD, self._periods * PERIOD
        bits = x.view(self._bits)
        for low in range(0, x.size, chunk):
            part = bits[low : low + chunk]
            yield part, tile[start : start + part.size]

    def _tile(self, row: int) -> Any:
        if row not in self._tiles:
            values = self._rows[row].view(self._bits)
            self._tiles[row] = self._xp.asarray(np.resize(values, (self._periods + 1) * PERIOD))
        return self._tiles[row]


def _inputs(dtype: DType, op: str, n_pes: int, rng: np.random.Generator) -> np.ndarray:
    """(n_pes, PERIOD) int64: the input of each PE."""
    signed = dtype.kind != "u"
    shape = (n_pes, PERIOD)
    if op == "prod":
        values = rng.choice([1, -1, 2, 1] if signed else [1, 2, 1, 1], shape)
        values[8:] = abs(values[8:]) // values[8:]  # so that products are at most 2**8
        return values
    if op in ("min", "max"):
        return rng.integers(-100 if signed else 0, 101, shape)
    limit = max(1, 100 // n_pes)
    values = rng.integers(-limit if signed else 0, limit + 1, shape)
    if op == "avg":
        values[-1] += -values.sum(axis=0) % n_pes  # the sum is a multiple of n_pes
    return values


def _reduced(values: np.ndarray, op: str) -> np.ndarray:
    if op == "avg":
        return values.sum(axis=0) // len(values)
    by = {"sum": np.add, "prod": np.multiply, "min": np.minimum, "max": np.maximum}[op]
    return np.asarray(by.reduce(values, axis=0))
