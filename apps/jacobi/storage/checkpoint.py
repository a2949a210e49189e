"""When a checkpoint is due, agreed by all PEs between two stretches of sweeps, and the solve cut into such stretches.

Any variant can be cut: after a stretch it holds a complete field.  A stretch takes about half a second, as PE 0 has
measured; it ends on a norm check where there is one within it, and where a checkpoint of --checkpoint-every is due.
"""

import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ..grid.problem import Problem
from ..outcome import Outcome
from .agreement import Agreement
from .interrupt import Wishes
from .save import save

STRETCH_S = 0.5
FIRST_SWEEPS, GROWTH = 8, 8  # of the first stretch, whose pace nobody knows, and from one to the next at most


class Checkpoints:
    """Saves the solve every ``every`` sweeps and every ``every_s`` seconds (0: not), when a signal asks for it, and
    when all sweeps are done.  Made and called by all PEs alike.

    written: how many;  seconds: what they took, on this PE
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
        """Where the stretch after so many sweeps ends."""
        stop = done + self._sweeps
        if self._problem.nccheck <= self._sweeps:
            stop -= stop % self._problem.nccheck
        if self._every:
            stop = min(stop, done - done % self._every + self._every)
        return min(stop, self._problem.niter)

    def attend(self, solver: Any, outcome: Outcome, sweeps: int, seconds: float) -> bool:
        """After a stretch of so many sweeps: save if anybody wants it; True when the solve is to end.  Collective."""
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
        complaint = save(solver, outcome, self._path)
        if not complaint:
            self.written += 1
        elif self._team.me == 0:
            text = f"jacobi: checkpoint {self._path} at iteration {outcome.iterations} could not be written: {complaint}"
            print(text, file=sys.stderr, flush=True)
        self._last_s = time.monotonic()


def run(
    solver: Any,
    outcome: Outcome,
    checkpoints: Checkpoints | None,
    show: bool,
    on_norm: Callable[[int, float], None] | None,
) -> float:
    """Sweep from where ``outcome`` stands until it has a reason to end.  Returns the seconds in sweeps.  Collective."""
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
