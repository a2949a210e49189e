"""When checkpoints are written: now and then, at the end, and when a signal asks for one."""

import sys
import time
from pathlib import Path
from typing import Any

from ..program.agreement import Agreement
from ..program.interrupt import Wishes
from ..program.outcome import Outcome
from ..program.printing import say
from .storage import save


class Checkpoints:
    """A context manager; ``attend`` is called after each round.  Making one is collective.

    every_s: seconds from one checkpoint to the next; 0: only at the end, and at SIGUSR1 and SIGTERM
    """

    def __init__(self, team: Any, path: Path, every_s: float):
        self._team, self._path, self._every_s = team, path, every_s
        self._agree, self._wishes = Agreement(team, 2), Wishes()
        self._granted, self._last_s = 0, time.monotonic()

    def __enter__(self) -> "Checkpoints":
        self._wishes.__enter__()
        return self

    def __exit__(self, *exc: Any) -> None:
        self._wishes.__exit__(*exc)

    def attend(self, solver: Any, outcome: Outcome) -> None:
        """Save if any PE wants that; outcome.reason is "interrupted" if the solve is to end.  Collective."""
        wished, ended = self._wishes.saves, outcome.reason != "iterations"
        due = 0 < self._every_s <= time.monotonic() - self._last_s and self._team.me == 0
        stop, save_now = self._agree(self._wishes.stop, due or wished > self._granted)
        self._granted = wished
        if stop and not ended:
            outcome.reason = "interrupted"
        if stop or save_now:
            self.save(solver, outcome)

    def save(self, solver: Any, outcome: Outcome) -> None:
        """Write one.  Collective."""
        error = save(solver, outcome, self._path, state=True)
        if error and self._team.me == 0:
            text = f"poisson: checkpoint {self._path} at iteration {outcome.iterations} could not be written: {error}"
            say(text, file=sys.stderr)
        self._last_s = time.monotonic()
