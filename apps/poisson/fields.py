"""The fields of one PE, and where they lie."""

from typing import Any

import numpy as np

from ..program.device import address, array_module, to_numpy
from .problem import Problem
from .records import Part

FIELDS = ("u", "f", "r", "even", "odd")  # the solution, the right-hand side, the residual, two directions by turns


def part_of(grid: Any, problem: Problem) -> Part:
    """This PE's part, as kernels see it."""
    plane = len(grid.own) == 2
    nx, ny, nz = (1, *grid.own) if plane else grid.own
    pitch, height = grid.local[-1], grid.local[-2]
    first = (0 if plane else height * pitch) + pitch + 1
    return Part(nx, ny, nz, first, 0 if plane else height * pitch, pitch, *problem.weights)


class Fields:
    """Symmetric arrays of a grid's part with a halo of one point.  Making and freeing them is collective.

    grid: of the team;  part: see ``Part``
    """

    def __init__(self, team: Any, problem: Problem, grid: Any):
        self.team, self.problem, self.grid, self.part = team, problem, grid, part_of(grid, problem)
        self.arrays = {name: grid.zeros(problem.dtype) for name in FIELDS}

    def __getitem__(self, name: str) -> Any:
        """The array of a field."""
        return self.arrays[name]

    def at(self, name: str) -> int:
        """The address of a field."""
        return address(self.arrays[name])

    def set(self, name: str, own: np.ndarray) -> None:
        """Set this PE's own points."""
        xp = array_module(self.team)
        self.grid.interior(self.arrays[name])[...] = xp.asarray(np.asarray(own, self.problem.dtype))

    def own(self, name: str) -> np.ndarray:
        """This PE's own points as NumPy."""
        return to_numpy(self.grid.interior(self.arrays[name]))

    def free(self) -> None:
        """Free the arrays.  Collective."""
        for array in self.arrays.values():
            self.team.free(array)
