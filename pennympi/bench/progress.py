"""A progress line on a terminal."""

import sys
import time

BAR_WIDTH = 24


class Progress:
    """A line on stderr, which is cleared before output is printed.  Nothing is drawn if stderr is no terminal."""

    def __init__(self, steps: int, shown: bool):
        self._steps, self._done, self._start = max(1, steps), 0, time.monotonic()
        self._shown = shown and sys.stderr.isatty()

    def step(self, what: str) -> None:
        """The next step, ``what``, begins."""
        if self._shown:
            full = BAR_WIDTH * self._done // self._steps
            left_s = (time.monotonic() - self._start) / self._done * (self._steps - self._done) if self._done else 0.0
            bar = "#" * full + "." * (BAR_WIDTH - full)
            sys.stderr.write(f"\r\033[K[{bar}] {self._done}/{self._steps}  {what}  {left_s:.0f} s left")
            sys.stderr.flush()
        self._done += 1

    def clear(self) -> None:
        """Clear the line before output."""
        if self._shown:
            sys.stderr.write("\r\033[K")
            sys.stderr.flush()
