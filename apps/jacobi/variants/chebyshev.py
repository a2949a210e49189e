"""The sweeps of ``--method chebyshev``, with their exchange hidden in the same way."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import chebyshev as texts
from ..device import address, array_module, to_numpy
from ..problem import Problem
from ..spectrum import weight
from .nvshmem_overlap import NvshmemOverlap


class Chebyshev(NvshmemOverlap):
    """``new`` holds the field before ``old``: a sweep reads its rows, never its halos, so the exchange is the same."""

    def __init__(self, team: Any, problem: Problem):
        super().__init__(team, problem)
        self._scratch = array_module(team).zeros(2 * problem.nx, problem.dtype)
        self._scratch_at = address(self._scratch)
        self._plain = team.kernel(texts.chebyshev, problem.dtype)
        self._measuring = team.kernel(texts.measuring_text(team), problem.dtype)
        self._number, self._weight = 0, 1.0

    def begin(self, done: int) -> None:
        self._number = done

    def step(self, due: Sequence[bool]) -> None:
        self._weight = weight(self.problem, self._number)
        self._number += 1
        super().step(due)

    def _launch(self, call: Any, slot: int | None, stream: Any) -> None:
        (blocks, threads), args = call
        if slot is None:
            self._plain(blocks, *args, self._weight, stream=stream, threads=threads)
        else:
            measure = (self.norm.at[slot], self._scratch_at)
            self._measuring(blocks, *args, self._weight, *measure, stream=stream, threads=threads)

    def previous_rows(self, start: int, stop: int) -> np.ndarray:
        """Own rows start..stop (0-based) of the field before the last sweep, as NumPy (stop - start, nx)."""
        return to_numpy(self.fields.new[1 + start : 1 + stop, : self.problem.nx])

    def resume(self, previous: Any) -> None:
        """Put the field before the last sweep in its place: own rows of a global field (ny, nx).  Not the halos, which
        are already the neighbours' to write."""
        slab = self.fields.slab
        rows = np.asarray(previous[np.arange(slab.first, slab.first + slab.rows)], self.problem.dtype)
        self.fields.new[1 : 1 + slab.rows, : self.problem.nx] = array_module(self.team).asarray(rows)
        self.team.synchronize()
