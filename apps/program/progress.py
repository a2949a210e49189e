"""What PE 0 shows during a solve: norms, and on stderr a bar on a terminal, else a line now and then."""

import sys
import threading
import time
from typing import Any

from .printing import say

EVERY_S = 3.0  # before anything is shown on stderr, and from one line to the next


class Progress:
    """Shows how far a solve is; called with every norm.

    points: of the grid
    niter:  iterations at most;  done: those before a restart
    show_every: iterations from one norm that is printed to stdout, as NVIDIA's samples do, to the next; 0: none is
    pace:   whether to show the iterations done on stderr
    """

    def __init__(self, points: int, niter: int, show_every: int = 0, pace: bool = True, done: int = 0):
        self._points, self._niter, self._show_every, self._before = points, niter, show_every, done
        self._start = self._last = time.monotonic()
        self._bar = _bar(niter, done) if pace and sys.stderr.isatty() else None
        self._lines = pace and self._bar is None

    def __call__(self, iteration: int, norm: float) -> None:
        """Show what is due with the norm of an iteration (0-based)."""
        if self._show_every and iteration % self._show_every == 0:
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
        glups = rate * self._points / 1e9
        left_s = (self._niter - done) / rate
        return f"{done}/{self._niter}  norm {norm:.3e}  {rate:.0f} it/s  {glups:.2f} GLUP/s  ETA {left_s:.0f} s"


def _bar(niter: int, done: int) -> Any:
    from tqdm import tqdm

    tqdm.set_lock(threading.RLock())  # its own is shared by processes, and makes files and perhaps a process
    tqdm.monitor_interval = 0  # no thread
    return tqdm(total=niter, initial=done, delay=EVERY_S, leave=False, unit="it", file=sys.stderr)
