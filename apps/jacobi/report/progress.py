"""The lines that PE 0 prints during a solve."""

import sys
import time

from ..grid.problem import Problem
from ..outcome import SHOW_EVERY
from ..printing import say

EVERY_S = 1.0


class Progress:
    """Prints progress; called with every norm.

    norms: whether to print norms to stdout, as NVIDIA's sample does
    pace:  whether to print a line to stderr once a second
    done:  sweeps before a restart
    """

    def __init__(self, problem: Problem, niter: int, norms: bool = True, pace: bool = True, done: int = 0):
        self._problem, self._niter, self._norms, self._pace, self._before = problem, niter, norms, pace, done
        self._start = self._last = time.monotonic()

    def __call__(self, iteration: int, norm: float) -> None:
        """Print the lines that are due with the norm of an iteration (0-based)."""
        if self._norms and iteration % SHOW_EVERY == 0:
            say(f"{iteration:5d}, {norm:0.6f}")
        now = time.monotonic()
        if self._pace and now - self._last >= EVERY_S:
            self._last = now
            say(self.line(iteration + 1, norm, now - self._start), file=sys.stderr)

    def line(self, done: int, norm: float, elapsed_s: float) -> str:
        """Iterations done, norm, iterations a second, billions of point updates a second, and the time left."""
        rate = (done - self._before) / max(elapsed_s, 1e-9)
        glups = rate * self._problem.nx * self._problem.ny / 1e9
        left_s = (self._niter - done) / rate
        return f"{done}/{self._niter}  norm {norm:.3e}  {rate:.0f} it/s  {glups:.2f} GLUP/s  ETA {left_s:.0f} s"
