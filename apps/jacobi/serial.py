"""The same sweeps on one PE alone: what speedup refers to, and what ``--verify serial`` compares with."""

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from ..program.device import Readback, address, array_module, free_bytes, to_numpy
from ..program.outcome import Outcome
from .grid.boundary import initial_field
from .grid.fields import pitch_elems, shape
from .grid.problem import Problem
from .norm.norm import norms_of, words_shape
from .sweep.band import inner
from .sweep.kernels import wrap
from .sweep.schedule import checked
from .sweep.sweeper import Sweeper

HOST_SWEEPS = 50  # that a CPU does at most to time them


def fits(team: Any, problem: Problem) -> bool:
    """Whether both fields, and on a CPU the result, fit on this PE, with a tenth of its free memory to spare."""
    rows, columns = shape(problem, 1, 1)
    result_bytes = problem.field_bytes if team.backend == "host" else 0
    return 2 * rows * columns * problem.item_bytes + result_bytes < 0.9 * free_bytes(team)


class Alone:
    """The fields of the whole problem in ordinary memory of this PE.  Nothing here is collective."""

    def __init__(self, team: Any, problem: Problem):
        self._team, self._problem, xp = team, problem, array_module(team)
        self._fields = [xp.zeros(shape(problem, 1, 1), problem.dtype) for _ in range(2)]
        self._words = xp.zeros(words_shape(team, 1), "int64")
        self._readback = Readback(team, self._words)
        self._stream, self._wrap = team.stream(), team.kernel(wrap, problem.dtype)
        self._pitch_bytes = pitch_elems(problem) * problem.item_bytes
        self._sweeper = Sweeper(team, problem, self._pitch_bytes)
        self._band = inner(team, problem, 1, problem.ny - 1, 1)
        team.synchronize()
        for measured in (False, True):  # of zeros: this compiles and loads
            self._sweep(0, measured)
        team.synchronize(self._stream)
        self._before = to_numpy(self._words).copy()

    def _sweep(self, k: int, measured: bool) -> None:
        old, new = self._fields[k % 2], self._fields[(k + 1) % 2]
        self._sweeper(new, old, self._band, self._stream, address(self._words) if measured else 0)
        rows = self._problem.ny - 2
        self._wrap(2, address(new), rows, 1, self._pitch_bytes, stream=self._stream, threads=512)

    def solve(
        self,
        niter: int,
        tol: float = -1.0,
        show: bool = False,
        on_norm: Callable[[int, float], None] | None = None,
        initial: np.ndarray | None = None,
    ) -> tuple[Outcome, float, np.ndarray]:
        """(outcome, seconds, the field (ny, nx)) of ``niter`` sweeps, or of fewer if a norm is at most ``tol``.

        A norm is read after the next sweep has been enqueued.  So the field is one sweep ahead if a norm ends the solve.
        """
        problem, outcome, pending = self._problem, Outcome(iterations=niter), None
        if initial is None:
            initial = initial_field(problem.ny, problem.nx, problem.bc, problem.dtype)
        for field in self._fields:
            field[: problem.ny, : problem.nx] = array_module(self._team).asarray(initial)
        self._team.synchronize()

        def ends(iteration: int) -> bool:
            after = self._readback.wait().copy()
            (norm,), self._before = norms_of(self._before, after), after
            if on_norm:
                on_norm(iteration, norm)
            return outcome.add(iteration, norm, tol)

        start = time.perf_counter()
        for k in range(niter):
            due = checked(k, problem.nccheck, show)
            self._sweep(k, due)
            if pending is not None and ends(pending):
                break
            pending = k if due else None
            if due:
                self._readback.start(self._stream)
        else:
            if pending is not None:
                ends(pending)
        self._team.synchronize(self._stream)
        seconds = time.perf_counter() - start
        return outcome, seconds, to_numpy(self._fields[(k + 1) % 2][: problem.ny, : problem.nx])
