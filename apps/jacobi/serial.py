"""The same problem on one PE alone: the time that speedup and efficiency refer to."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from . import chebyshev
from .boundary import column
from .device import array_module, free_bytes, launch_shape, to_numpy
from .norm import WORDS, norm_of
from .outcome import Outcome, checked
from .problem import Problem
from .spectrum import weight
from .sweep import measuring_text, sweep, wrap

HOST_SWEEPS = 50  # on a CPU so many sweeps are timed, and the time is scaled up


@dataclass(frozen=True)
class SerialTime:
    """runtime_s: of ``of`` sweeps, from ``measured`` sweeps;  history: (iteration, norm) pairs"""

    runtime_s: float
    measured: int
    of: int
    history: list[tuple[int, float]]


class Serial:
    """Made on every PE (kernels), run on any (fields)."""

    def __init__(self, team: Any, problem: Problem):
        self.team, self.problem = team, problem
        self._weighted = problem.method == "chebyshev"
        texts = (chebyshev.chebyshev, chebyshev.measuring_text(team)) if self._weighted else (sweep, measuring_text(team))
        self._plain, self._measuring = (team.kernel(text, problem.dtype) for text in texts)
        self._wrap = team.kernel(wrap, problem.dtype)

    def fits(self) -> bool:
        """Whether two whole fields have room on this PE (a tenth is left to others)."""
        return 2 * self.problem.field_bytes < 0.9 * free_bytes(self.team)

    def run(
        self,
        niter: int,
        show: bool = False,
        on_norm: Callable[[int, float], None] | None = None,
        initial: np.ndarray | None = None,
        stops: bool = True,
    ) -> tuple[Outcome, float, np.ndarray]:
        """(outcome, seconds, the field (ny, nx)).  Not collective.  stops: whether a small norm ends it"""
        team, problem, xp = self.team, self.problem, array_module(self.team)
        nx, ny, pitch_bytes = problem.nx, problem.ny, problem.pitch_bytes
        fields = [xp.zeros((ny, nx), problem.dtype) for _ in (0, 1)]
        words, scratch = xp.zeros(WORDS, "int64"), xp.zeros(2 * nx, problem.dtype)
        stream = team.stream()
        blocks, threads = launch_shape(team, ny - 2)

        def reset() -> None:
            values = xp.asarray(column(ny, problem.bc, problem.dtype))
            for one in fields:
                if initial is None:
                    one[...] = 0
                    one[:, 0] = one[:, -1] = values
                else:
                    one[...] = xp.asarray(np.asarray(initial, problem.dtype))
            team.synchronize()

        def one_sweep(old: Any, new: Any, measure: bool, number: int) -> None:
            args = (new, old, 1, ny - 1, 1, nx, pitch_bytes, *([weight(problem, number)] if self._weighted else []))
            if measure:
                self._measuring(blocks, *args, words, scratch, stream=stream, threads=threads)
            else:
                self._plain(blocks, *args, stream=stream, threads=threads)
            self._wrap(2, new, ny - 2, nx, pitch_bytes, stream=stream, threads=512)

        def read() -> list[int]:
            team.synchronize(stream)
            return [int(word) for word in to_numpy(words)]

        reset()
        for measure in (True, False):  # the first launch of a kernel is slow
            one_sweep(fields[0], fields[1], measure, 0)
        seen = read()
        reset()
        outcome = Outcome(niter)
        old, new = fields
        start = time.perf_counter()
        for iteration in range(niter):
            measure = stops and checked(iteration, problem.nccheck, show)
            one_sweep(old, new, measure, iteration)
            old, new = new, old
            if measure:
                now = read()
                norm, seen = norm_of(seen, now), now
                if on_norm:
                    on_norm(iteration, norm)
                if outcome.add(iteration, norm, problem.tol):
                    break
        team.synchronize(stream)
        return outcome, time.perf_counter() - start, to_numpy(old)

    def time(self, show: bool, on_norm: Callable[[int, float], None] | None = None) -> SerialTime:
        """The time of all niter sweeps on this PE."""
        sweeps = self.sweeps()
        outcome, seconds, _ = self.run(sweeps, show, on_norm)
        per_sweep_s = seconds / max(outcome.iterations, 1)
        of = outcome.iterations if outcome.reason != "iterations" else self.problem.niter
        return SerialTime(per_sweep_s * of, outcome.iterations, of, outcome.history)

    def sweeps(self) -> int:
        """How many sweeps ``time`` runs at most: all on a GPU, a sample of them on a CPU."""
        return self.problem.niter if self.team.backend == "cuda" else min(self.problem.niter, HOST_SWEEPS)
