"""A bar that shows the progress of a long solve on a terminal."""

import sys
import time
from typing import Any

SILENT_S = 2.0  # time before the bar appears


class Progress:
    """A bar of tqdm on PE 0's stderr, if stderr is a terminal and tqdm is installed; else nothing.

    total: the most iterations
    """

    def __init__(self, pe: int, total: int):
        self._is_shown, self._total, self._begin_s = pe == 0 and sys.stderr.isatty(), total, time.perf_counter()
        self._bar: Any = None

    def show(self, iterations: int, residual: float | None = None) -> None:
        """Show the number of iterations, and the residual unless it is None."""
        if not self._is_shown or time.perf_counter() - self._begin_s < SILENT_S:
            return
        if self._bar is None:
            try:
                from tqdm import tqdm
            except ImportError:
                self._is_shown = False
                return
            self._bar = tqdm(total=self._total, unit=" iterations", leave=False)
        if residual is not None:
            self._bar.set_postfix_str(f"residual {residual:.1e}", refresh=False)
        self._bar.update(iterations - self._bar.n)

    def close(self) -> None:
        """Remove the bar."""
        if self._bar is not None:
            self._bar.close()
