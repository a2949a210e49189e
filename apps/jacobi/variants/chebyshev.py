"""The sweeps of ``--method chebyshev``: the exchange of nvshmem_overlap.py around other kernels.

Read first: nvshmem_overlap.py, then ../grid/spectrum.py and ../sweep/chebyshev_kernels.py.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...program.device import address, array_module, to_numpy
from ..grid.problem import Problem
from ..grid.spectrum import weight
from ..sweep import chebyshev_kernels
from ..sweep.band import Band
from ..sweep.records import FieldPair, RowRange, Sum
from .nvshmem_overlap import NvshmemOverlap

MAX_BLOCKS = 132 * 8  # eight for each multiprocessor of an H200


def launch_shape(team: Any, rows: int) -> tuple[int, int]:
    """(blocks, threads) of a launch over ``rows`` rows, one row a block; few rows get wide blocks."""
    if team.backend == "cuda":
        return min(rows, MAX_BLOCKS), 256 if rows > 2 else 512
    return 1, 32


class Chebyshev(NvshmemOverlap):
    """``new`` holds the field before ``old``.  A sweep reads its rows but not its halos, so the exchange is the same."""

    def __init__(self, team: Any, problem: Problem):
        super().__init__(team, problem)
        self._scratch = array_module(team).zeros(2 * self.fields.pitch_bytes, "uint8")
        self._scratch_at = address(self._scratch)
        self._plain, self._measuring = self.kernels(team, problem, True)
        self._number, self._weight = 0, 1.0

    @classmethod
    def kernels(cls, team: Any, problem: Problem, show: bool, **settings: Any) -> list[Any]:
        both = chebyshev_kernels.chebyshev, chebyshev_kernels.measuring_kernel(team)
        return [team.kernel(kernel, problem.dtype) for kernel in both]

    def begin(self, done: int) -> None:
        self._number = done

    def step(self, due: Sequence[bool]) -> None:
        self._weight = weight(self.problem, self._number)
        self._number += 1
        super().step(due)

    def launch(self, band: Band | None, slot: int | None, stream: Any) -> None:
        if band is None:
            return
        first, stop, stride, chunk = band.rows
        rows = RowRange(first, stop, 1 if chunk > 1 else stride)  # both edge rows, or all rows of the band
        fields = FieldPair(address(self.fields.new), address(self.fields.old), self.problem.nx, self.fields.pitch_bytes)
        blocks, threads = launch_shape(self.team, -(-(stop - first) // rows.step_rows))
        if slot is None:
            self._plain(blocks, fields, rows, self._weight, stream=stream, threads=threads)
        else:
            into = Sum(self.norm.at[slot], self._scratch_at)
            self._measuring(blocks, fields, rows, self._weight, into, stream=stream, threads=threads)

    def previous_rows(self, start: int, stop: int) -> np.ndarray:
        """Own rows start..stop (0-based) of the field before the last sweep, as NumPy (stop - start, nx)."""
        return to_numpy(self.fields.new[1 + start : 1 + stop, : self.problem.nx])

    def resume(self, previous: Any) -> None:
        """Restore the field before the last sweep from a global field (ny, nx): this PE's rows, not the halos, which the
        neighbours may already write."""
        slab = self.fields.slab
        rows = np.asarray(previous[np.arange(slab.first, slab.first + slab.rows)], self.problem.dtype)
        self.fields.new[1 : 1 + slab.rows, : self.problem.nx] = array_module(self.team).asarray(rows)
        self.team.synchronize()
