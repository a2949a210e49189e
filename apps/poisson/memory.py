"""What one PE keeps: the fields, and the sums of the iterations."""

from typing import Any

import numpy as np

from pennympi.kernels.in_kernel import WORDS, WORDS_BYTES, SumWords, as_float

from ..program.device import address, array_module, to_numpy
from .problem import Problem
from .records import Part, Scalars

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
        wx, wy, wz = problem.weights
        self.part = Part(nx, ny, nz, plane + row + 1, plane, row, wx, wy, wz, rims_of(grid))

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


def rims_of(grid: Any) -> int:
    """See ``Part``."""
    sides = [axis + way for axis in "xyz"[: len(grid.own)] for way in "-+"]
    return sum(1 << 6 - len(sides) + k for k, side in enumerate(sides) if grid.neighbour(side) is not None)


class Sums:
    """Memory of the sums, see ``Scalars``; int64.  Making and freeing it is collective.

    words, totals: (2, WORDS), which are the same array on a PE that is alone: p * A p and r * r of an iteration
    history: (niter + 2, WORDS);  pap: (niter, WORDS), used by a PE that is alone, which adds to it and to the history
    runs:    (2,);  value: float64 (1,), r * r after each iteration
    """

    def __init__(self, team: Any, problem: Problem):
        zeros = array_module(team).zeros
        self.team, self.period, self.alone = team, problem.replace or problem.niter, team.n_pes == 1
        self.words = team.zeros((2, WORDS), "int64")
        self.totals = self.words if self.alone else team.zeros((2, WORDS), "int64")
        self.history, self.runs = zeros((problem.niter + 2, WORDS), "int64"), zeros(2, "int64")
        self.pap, self.value = zeros((problem.niter if self.alone else 0, WORDS), "int64"), zeros(1, "float64")
        pairs = () if self.alone else zip(self.words, self.totals, strict=True)
        self._plans = [team.plan_allreduce(words, totals, op="sum") for words, totals in pairs]

    def add_up(self, which: int, stream: Any) -> None:
        """Sum the first or the second of ``words`` over all PEs."""
        if self._plans:
            self._plans[which](stream=stream)

    def scalars(self, below: float = 0.0) -> Scalars:
        """What the kernels take."""
        history, words = address(self.history), address(self.words)
        at = (words, words + WORDS_BYTES, address(self.totals), 0)
        if self.alone:
            at = (address(self.pap), history + 2 * WORDS_BYTES, address(self.pap), WORDS_BYTES)
        return Scalars(history, address(self.runs), below, *at)

    def read(self, first: int, stop: int) -> np.ndarray:
        """r * r after iterations ``first`` to ``stop - 1``, float64."""
        return floats(to_numpy(self.history[first + 1 : stop + 1]))

    def free(self) -> None:
        """Free the words."""
        for array in (self.words, self.totals)[: 2 if self._plans else 1]:
            self.team.free(array)


def floats(totals: np.ndarray) -> np.ndarray:
    """The sums in words (n, WORDS) as float64 (n,)."""
    return np.array([as_float(SumWords(*one)) for one in totals[:, : len(SumWords._fields)].tolist()])
