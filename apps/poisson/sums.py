"""The sums of the iterations: words of this PE, the sums over all PEs, and their floats on the host."""

from typing import Any

import numpy as np

from pennympi.kernels.in_kernel import WORDS, SumWords, as_float

from ..program.device import address, array_module, to_numpy
from .problem import Problem
from .records import Scalars


class Sums:
    """Memory of the sums, see ``Scalars``; int64.  Making and freeing it is collective.

    words, totals: (2, WORDS), which are the same array on a PE that is alone;  history: (niter + 2, WORDS)
    runs: (1,);  value: float64 (1,), r * r after each iteration
    """

    def __init__(self, team: Any, problem: Problem):
        zeros = array_module(team).zeros
        self.team, self.period = team, problem.replace or problem.niter
        self.words = team.zeros((2, WORDS), "int64")
        self.totals = team.zeros((2, WORDS), "int64") if team.n_pes > 1 else self.words
        self.history, self.runs = zeros((problem.niter + 2, WORDS), "int64"), zeros(1, "int64")
        self.value = zeros(1, "float64")
        pairs = zip(self.words, self.totals, strict=True) if team.n_pes > 1 else ()
        self._plans = [team.plan_allreduce(words, totals, op="sum") for words, totals in pairs]

    def add_up(self, which: int, stream: Any) -> None:
        """Sum the first or the second of ``words`` over all PEs."""
        if self._plans:
            self._plans[which](stream=stream)

    def scalars(self, below: float = 0.0) -> Scalars:
        """What the kernels take."""
        at = [address(one) for one in (self.words, self.totals, self.history, self.runs)]
        return Scalars(at[0], at[1], at[2], at[3], below, self.period)

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
