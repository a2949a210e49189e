"""The fields of one PE, and where they lie."""

from typing import Any

import numpy as np

from ..program.device import address, array_module
from .problem import Problem
from .records import Part

FIELDS = ("u", "f", "r", "even", "odd")  # the solution, the right-hand side, the residual, two directions by turns


class Fields(dict[str, Any]):
    """Symmetric arrays of a grid's part with a halo of one point, by name.  Making and freeing them is collective.

    grid: of the team;  part: see ``Part``
    """

    def __init__(self, team: Any, problem: Problem, grid: Any):
        super().__init__((name, grid.zeros(problem.dtype)) for name in FIELDS)
        self.team, self.grid = team, grid
        strides = (stride // problem.item_bytes for stride in self["u"].strides)
        (nx, plane), (ny, row), (nz, _) = [(1, 0), *zip(grid.own, strides, strict=True)][-3:]
        self.part = Part(nx, ny, nz, plane + row + 1, plane, row, *problem.weights)

    def at(self, name: str) -> int:
        """The address of a field."""
        return address(self[name])

    def set(self, name: str, own: np.ndarray) -> None:
        """Set this PE's own points."""
        self.grid.interior(self[name])[...] = array_module(self.team).asarray(own, self[name].dtype)

    def free(self) -> None:
        """Free the arrays.  Collective."""
        for array in self.values():
            self.team.free(array)
