"""The fields of one PE, and where they lie."""

from typing import Any

import numpy as np

from ..program.device import address, array_module, to_numpy
from .problem import Problem
from .records import Part

FIELDS = ("u", "f", "r", "even", "odd")  # the solution, the right-hand side, the residual, two directions by turns


def part_of(own: tuple[int, ...], strides: tuple[int, ...], problem: Problem) -> Part:
    """This PE's part, as kernels see it.  own: points;  strides: of its fields"""
    (nx, plane), (ny, row), (nz, item) = [(1, 0)] * (3 - len(own)) + list(zip(own, strides, strict=True))
    return Part(nx, ny, nz, (plane + row) // item + 1, plane // item, row // item, *problem.weights)


class Fields:
    """Symmetric arrays of a grid's part with a halo of one point.  Making and freeing them is collective.

    grid: of the team;  part: see ``Part``
    """

    def __init__(self, team: Any, problem: Problem, grid: Any):
        self.team, self.problem, self.grid = team, problem, grid
        self.arrays = {name: grid.zeros(problem.dtype) for name in FIELDS}
        self.part = part_of(grid.own, self.arrays["u"].strides, problem)

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
