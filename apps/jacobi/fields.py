"""The fields of one PE: its rows, the halo rows around them, and where a sweep reads and writes."""

from typing import Any

import numpy as np

from .boundary import column
from .device import array_module, to_numpy
from .problem import Problem
from .slab import Slab, most_rows, slabs


def shape(problem: Problem, n_pes: int, depth: int) -> tuple[int, int]:
    """(rows, columns) of one field, the same on every PE: the largest slab and ``depth`` halo rows on either side."""
    return most_rows(slabs(problem.ny, n_pes)) + 2 * depth, problem.nx


class Fields:
    """Symmetric arrays that a solve goes round: sweeps read ``old`` and write ``new``, then ``advance`` turns them.

    count: how many arrays;  depth: halo rows on either side, which the neighbours write
    Rows 0..depth-1 are the halo from above, then come the slab's rows, then the halo from below.
    """

    def __init__(self, team: Any, problem: Problem, count: int = 2, depth: int = 1):
        self.team, self.problem, self.depth = team, problem, depth
        self.parts = slabs(problem.ny, team.n_pes)
        self.arrays = [team.zeros(shape(problem, team.n_pes, depth), problem.dtype) for _ in range(count)]
        self.current = 0

    @property
    def slab(self) -> Slab:
        """What this PE owns."""
        return self.parts[self.team.me]

    @property
    def old(self) -> Any:
        """The field as it is."""
        return self.arrays[self.current]

    @property
    def new(self) -> Any:
        """Where the next sweep goes."""
        return self.arrays[(self.current + 1) % len(self.arrays)]

    def advance(self, by: int = 1) -> None:
        """What was new is old (by=1); the other way round (by=-1)."""
        self.current = (self.current + by) % len(self.arrays)

    def used(self, array: Any) -> Any:
        """The part of a field that this PE uses, halos included: its slab may be smaller than the largest."""
        return array[: self.slab.rows + 2 * self.depth]

    def rows(self, start: int, stop: int) -> np.ndarray:
        """Own rows start..stop (0-based) of the field, as NumPy (stop - start, nx)."""
        return to_numpy(self.old[self.depth + start : self.depth + stop, : self.problem.nx])

    def reset(self, initial: np.ndarray | None = None) -> None:
        """Start anew, from zeros or from a global field (ny, nx) closed to a ring.  Collective."""
        ring, problem = self.problem.ny - 2, self.problem
        first = self.slab.first - self.depth
        mine = (np.arange(first, first + self.slab.rows + 2 * self.depth) - 1) % ring + 1  # the ring's rows 1..ny-2
        xp = array_module(self.team)
        for array in self.arrays:
            array[...] = 0
            used = self.used(array)[:, : problem.nx]
            if initial is None:
                values = xp.asarray(column(problem.ny, problem.bc, problem.dtype)[mine])
                used[:, 0] = used[:, -1] = values
            else:
                used[...] = xp.asarray(np.asarray(initial[mine], problem.dtype))
        self.current = 0
        self.team.synchronize()
        self.team.barrier()  # nobody may push a halo into a field that is yet to be reset
        self.team.synchronize()

    def free(self) -> None:
        """Give the arrays back.  Collective."""
        for array in self.arrays:
            self.team.free(array)
