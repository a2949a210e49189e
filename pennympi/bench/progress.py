"""How far a long command is: a bar on a terminal, else a line on stderr now and then, as under mpirun."""

import sys
import threading
import time
from typing import Any

QUIET_S = 3.0  # before anything is shown, and without a terminal from one line to the next


class Progress:
    """What is shown on stderr about ``steps`` steps.  shown: False shows nothing, as on all PEs but one"""

    def __init__(self, steps: int, shown: bool):
        self._steps, self._done, self._begin = max(1, steps), 0, time.monotonic()
        self._last, self._shown = self._begin, shown
        self._bar = _bar(self._steps) if shown and sys.stderr.isatty() else None

    def step(self, what: str) -> None:
        """The next step, ``what``, begins."""
        now = time.monotonic()
        if self._bar is not None:
            self._bar.set_postfix_str(what, refresh=False)
            self._bar.update(min(self._done, 1))
        elif self._shown and now - self._last >= QUIET_S:
            self._last = now
            left_s = (now - self._begin) / self._done * (self._steps - self._done) if self._done else 0.0
            left = f", about {left_s:.0f} s left" if self._done else ""
            print(f"pennympi: {self._done} of {self._steps} done{left}: {what}", file=sys.stderr, flush=True)
        self._done += 1

    def clear(self) -> None:
        """Clear the bar before output, which shows progress, too."""
        self._last = time.monotonic()
        if self._bar is not None:
            self._bar.clear()

    def close(self) -> None:
        """Clear the bar for good."""
        if self._bar is not None:
            self._bar.close()


def _bar(steps: int) -> Any:
    from tqdm import tqdm

    tqdm.set_lock(threading.RLock())  # its own is shared by processes, and makes files and perhaps a process
    tqdm.monitor_interval = 0  # no thread
    return tqdm(total=steps, delay=QUIET_S, leave=False, unit="", file=sys.stderr)
