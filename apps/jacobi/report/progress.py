"""What PE 0 shows during a solve: norms, and on stderr a bar on a terminal, else a line now and then."""

import sys
import threading
import time
from typing import Any

from ...program.printing import say
from ..grid.problem import Problem
from ..norms_due import SHOW_EVERY

EVERY_S = 3.0  # before anything is shown on stderr, and from one line to the next


class Progress:
    """Shows how far a solve is; called with every norm.

    norms: whether to print norms to stdout, as NVIDIA's sample does
    pace:  whether to show the sweeps done on stderr
    done:  sweeps before a restart
    """

    def __init__(self, problem: Problem, niter: int, norms: bool = True, pace: bool = True, done: int = 0):
        self._problem, self._niter, self._norms, self._before = problem, niter, norms, done
        self._start = self._last = time.monotonic()
        self._bar = _bar(niter, done) if pace and sys.stderr.isatty() else None
        self._lines = pace and self._bar is None

    def __call__(self, iteration: int, norm: float) -> None:
        """Show what is due with the norm of an iteration (0-based)."""
        if self._norms and iteration % SHOW_EVERY == 0:
            if self._bar is not None:
                self._bar.clear()
            say(f"{iteration:5d}, {norm:0.6f}")
        now = time.monotonic()
        if self._bar is not None:
            self._bar.set_postfix_str(f"norm {norm:.3e}", refresh=False)
            self._bar.update(iteration + 1 - self._bar.n)
        if self._lines and now - self._last >= EVERY_S:
            self._last = now
            say(self.line(iteration + 1, norm, now - self._start), file=sys.stderr)

    def close(self) -> None:
        """Clear the bar."""
        if self._bar is not None:
            self._bar.close()

    def line(self, done: int, norm: float, elapsed_s: float) -> str:
        """Iterations done, norm, iterations a second, billions of point updates a second, and the time left."""
        rate = (done - self._before) / max(elapsed_s, 1e-9)
        glups = rate * self._problem.nx * self._problem.ny / 1e9
        left_s = (self._niter - done) / rate
        return f"{done}/{self._niter}  norm {norm:.3e}  {rate:.0f} it/s  {glups:.2f} GLUP/s  ETA {left_s:.0f} s"


def _bar(niter: int, done: int) -> Any:
    from tqdm import tqdm

    tqdm.set_lock(threading.RLock())  # its own is shared by processes, and makes files and perhaps a process
    tqdm.monitor_interval = 0  # no thread
    return tqdm(total=niter, initial=done, delay=EVERY_S, leave=False, unit="it", file=sys.stderr)
