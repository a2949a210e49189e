"""The fields of one PE: its rows and the halo rows around them, in arrays that sweeps read and write in turn."""

from typing import Any

import numpy as np

from ...program.device import array_module, to_numpy
from .boundary import column
from .problem import Problem
from .slab import Slab, slabs

SPARE_ROWS = 4  # below a field, because the march reads a few rows ahead
LINE_BYTES = 128  # rows begin at multiples of a cache line


def pitch_elems(problem: Problem) -> int:
    """Elements from a row to the next: the columns, and zeros that align the next row and are never written."""
    line = LINE_BYTES // problem.item_bytes
    return -(-problem.nx // line) * line


def shape(problem: Problem, n_pes: int, depth: int) -> tuple[int, int]:
    """(rows, elements) of a field, the same on every PE: the largest slab with ``depth`` halo rows on either side."""
    most_rows = max(slab.rows for slab in slabs(problem.ny, n_pes))
    return most_rows + 2 * depth + SPARE_ROWS, pitch_elems(problem)


class Fields:
    """Symmetric arrays, used in turn: sweeps read ``old`` and write ``new``, and ``advance`` makes the new one old.

    count: number of arrays;  depth: halo rows on either side, which the neighbours write
    Rows 0..depth-1 are the halo from above, then come the slab's rows, then the halo from below.  Making and freeing
    them is collective.
    """

    def __init__(self, team: Any, problem: Problem, count: int = 2, depth: int = 1):
        self.team, self.problem, self.depth = team, problem, depth
        self.parts = slabs(problem.ny, team.n_pes)
        self.pitch_bytes = pitch_elems(problem) * problem.item_bytes
        self.arrays = [team.zeros(shape(problem, team.n_pes, depth), problem.dtype) for _ in range(count)]
        self.current = 0

    @property
    def slab(self) -> Slab:
        """The rows that this PE owns."""
        return self.parts[self.team.me]

    @property
    def old(self) -> Any:
        """The present field."""
        return self.arrays[self.current]

    @property
    def new(self) -> Any:
        """The field that the next sweep writes."""
        return self.arrays[(self.current + 1) % len(self.arrays)]

    def advance(self, by: int = 1) -> None:
        """Make the new field the old one (by=1), or go back one field (by=-1)."""
        self.current = (self.current + by) % len(self.arrays)

    def rows(self, start: int, stop: int) -> np.ndarray:
        """Rows start..stop of this PE's slab (0-based) in the present field, as NumPy (stop - start, nx)."""
        return to_numpy(self.old[self.depth + start : self.depth + stop, : self.problem.nx])

    def reset(self, initial: np.ndarray | None = None) -> None:
        """Set all fields to a global field (ny, nx) whose rows form a ring, or to zeros and the boundary.  Collective."""
        ring, problem = self.problem.ny - 2, self.problem
        first = self.slab.first - self.depth
        mine = (np.arange(first, first + self.slab.rows + 2 * self.depth) - 1) % ring + 1  # global rows 1..ny-2
        xp = array_module(self.team)
        for array in self.arrays:
            array[...] = 0
            used = array[: len(mine), : problem.nx]
            if initial is None:
                values = xp.asarray(column(problem.ny, problem.bc, problem.dtype)[mine])
                used[:, 0] = used[:, problem.nx - 1] = values
            else:
                used[...] = xp.asarray(np.asarray(initial[mine], problem.dtype))
        self.current = 0
        self.team.synchronize()
        self.team.barrier()  # no PE may put a halo into a field that is not reset yet
        self.team.synchronize()

    def free(self) -> None:
        """Free the arrays.  Collective."""
        for array in self.arrays:
            self.team.free(array)
