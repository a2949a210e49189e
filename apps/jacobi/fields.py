"""The fields of a PE: its rows and the halo around them, in two arrays that sweeps read and write in turn.

The ny-2 rows of the ring and the nx-2 columns that are not fixed are a grid of the library, whose dimension 0 has the
rows; the fixed columns are its halo.  If the rows do not divide evenly, the first PEs have one row more (in NVIDIA's
sample the last PEs).
"""

from typing import Any, NamedTuple

import numpy as np

from ..program.device import array_module, to_numpy
from .problem import Problem, column


class Edges(NamedTuple):
    """Rows of a field for puts to the neighbours, without the fixed columns, if the halo is one row deep.

    first, last: this PE's first and last row
    halo_above:  the halo above the rows, which is at the same place on the PE below
    halo_below:  the memory of this PE at the place where the PE above has the halo below its rows
    """

    first: Any
    last: Any
    halo_above: Any
    halo_below: Any


class Fields:
    """Two arrays of shape (rows + 2 * depth, nx): sweeps read ``old`` and write ``new``, and ``advance`` swaps them.

    rows:     number of this PE's rows;  first: index of its first row in the ring
    depth:    number of halo rows above the rows, and below them
    up, down: the PEs above and below;  rows_above: number of rows of the PE above
    Making and freeing fields is collective.
    """

    def __init__(self, team: Any, problem: Problem, depth: int = 1):
        self.team, self.problem, self.depth, self.current = team, problem, depth, 0
        shape, dims = (problem.ny - 2, problem.nx - 2), (team.n_pes, 1)
        self.grid = grid = team.grid(shape, dims=dims, periodic=(True, False), halo=(depth, 1))
        self.first, self.rows = grid.first[0], grid.own[0]
        self.up, self.down = grid.neighbour("x-"), grid.neighbour("x+")  # x is the grid's dimension 0: the rows
        self.arrays = [grid.zeros(problem.dtype) for _ in range(2)]
        self.rows_above = team.gather(self.rows)[self.up]
        self._edges = [self._edges_of(array) for array in self.arrays]
        team.synchronize()  # until the arrays are zero

    @property
    def old(self) -> Any:
        """The present field."""
        return self.arrays[self.current]

    @property
    def new(self) -> Any:
        """The field that the next sweep writes."""
        return self.arrays[1 - self.current]

    @property
    def edges_of_new(self) -> Edges:
        """The edges of the field that the next sweep writes."""
        return self._edges[1 - self.current]

    def _edges_of(self, array: Any) -> Edges:
        as_above = array_module(self.team).lib.stride_tricks.as_strided(  # the PE above may have a row more
            array, (self.rows_above + 2, self.problem.nx), array.strides
        )
        inner = slice(1, -1)
        return Edges(array[1, inner], array[self.rows, inner], array[0, inner], as_above[self.rows_above + 1, inner])

    def advance(self) -> None:
        """Make the new field the present field; a second call goes back."""
        self.current = 1 - self.current

    def own(self, start: int = 0, stop: int | None = None) -> np.ndarray:
        """Rows start .. stop - 1 of this PE, from 0 on, of the present field, as NumPy (stop - start, nx)."""
        stop = self.rows if stop is None else stop
        return to_numpy(self.old[self.depth + start : self.depth + stop])

    def reset(self, initial: np.ndarray | None = None) -> None:
        """Set both arrays to a whole field (ny, nx) whose rows form a ring, or to zeros and the boundary.  Collective."""
        ring_rows, problem, xp = self.problem.ny - 2, self.problem, array_module(self.team)
        own = 1 + np.arange(self.first - self.depth, self.first + self.rows + self.depth) % ring_rows  # in 1..ny-2
        for array in self.arrays:
            if initial is None:
                array[...] = 0
                array[:, 0] = array[:, -1] = xp.asarray(column(problem.ny, problem.bc, problem.dtype)[own])
            else:
                array[...] = xp.asarray(np.asarray(initial[own], problem.dtype))
        self.current = 0
        self.settle()

    def settle(self) -> None:
        """Wait until all PEs have set their fields: a put must not come before the field is set.  Collective."""
        self.team.synchronize()
        self.team.barrier()
        self.team.synchronize()

    def free(self) -> None:
        """Free the arrays.  Collective."""
        for array in self.arrays:
            self.team.free(array)
