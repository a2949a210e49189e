"""A solve in stretches of sweeps, between which the PEs agree whether to write a checkpoint and whether to stop.

After a stretch every variant holds a complete field.  A stretch takes about half a second, by the pace that PE 0 has
measured.  It ends with a sweep whose norm is computed, if it is long enough, and where --checkpoint-every says.
"""

import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ...program.agreement import Agreement
from ...program.interrupt import Wishes
from ...program.outcome import Outcome
from ...program.printing import say
from ..grid.problem import Problem
from .save import save

STRETCH_S = 0.5
FIRST_SWEEPS = 8  # of the first stretch, before the pace is known
GROWTH = 8  # how many times longer than the stretch before a stretch may be


class Checkpoints:
    """Writes checkpoints: when all sweeps are done, and when a signal asks for one.  Making one is collective.

    every, every_s: sweeps and seconds from one further checkpoint to the next (0: none)
    written: number of checkpoints;  seconds: the time that they took on this PE
    """

    def __init__(self, team: Any, problem: Problem, path: Path, every: int = 0, every_s: float = 0.0):
        self._team, self._problem, self._path = team, problem, path
        self._every, self._every_s = every, every_s
        self._agree = Agreement(team, 3)
        self._wishes = Wishes()
        self._granted, self._sweeps, self._last_s = 0, FIRST_SWEEPS, time.monotonic()
        self.written, self.seconds = 0, 0.0

    def __enter__(self) -> "Checkpoints":
        self._wishes.__enter__()
        return self

    def __exit__(self, *exc: Any) -> None:
        self._wishes.__exit__(*exc)

    def stop(self, done: int) -> int:
        """The sweep with which the stretch after ``done`` sweeps ends."""
        stop = done + self._sweeps
        if self._problem.nccheck <= self._sweeps:
            stop -= stop % self._problem.nccheck
        if self._every:
            stop = min(stop, done - done % self._every + self._every)
        return min(stop, self._problem.niter)

    def attend(self, solver: Any, outcome: Outcome, sweeps: int, seconds: float) -> bool:
        """Save after a stretch, if any PE wants that; True if the solve is to end.  Collective.

        sweeps, seconds: of the stretch
        """
        begin_s = time.monotonic()
        wished, pace = self._wishes.saves, sweeps / max(seconds, 1e-9)
        due = 0 < self._every_s <= begin_s - self._last_s and self._team.me == 0
        ahead = min(int(pace * STRETCH_S), GROWTH * self._sweeps) if self._team.me == 0 else 0
        stop, save_now, self._sweeps = self._agree(self._wishes.stop, due or wished > self._granted, max(ahead, 1))
        self._granted = wished
        if outcome.iterations == self._problem.niter:
            save_now = True
        elif stop:
            save_now, outcome.reason = True, "interrupted"
        if save_now or (self._every and outcome.iterations % self._every == 0):
            self._save(solver, outcome)
        self.seconds += time.monotonic() - begin_s
        return bool(stop)

    def _save(self, solver: Any, outcome: Outcome) -> None:
        error = save(solver, outcome, self._path)
        if not error:
            self.written += 1
        elif self._team.me == 0:
            text = f"jacobi: checkpoint {self._path} at iteration {outcome.iterations} could not be written: {error}"
            say(text, file=sys.stderr)
        self._last_s = time.monotonic()


def run(
    solver: Any,
    outcome: Outcome,
    checkpoints: Checkpoints | None,
    show: bool,
    on_norm: Callable[[int, float], None] | None,
) -> float:
    """Sweep on from ``outcome`` until the solve ends.  Returns the seconds spent in sweeps.  Collective."""
    niter, total_s = solver.problem.niter, 0.0
    while True:
        begin, done = time.perf_counter(), outcome.iterations
        solver.run(show, on_norm, outcome, checkpoints.stop(done) if checkpoints else niter)
        seconds = time.perf_counter() - begin
        total_s += seconds
        if outcome.reason != "iterations":
            return total_s
        ends = checkpoints.attend(solver, outcome, outcome.iterations - done, seconds) if checkpoints else False
        if ends or outcome.iterations == niter:
            return total_s
