"""A bar that shows the progress of a long solve on a terminal."""

import os
import stat
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

SILENT_S = 2.0  # time before the bar appears
LAUNCHERS = ("mpirun", "mpiexec", "orterun", "prterun", "srun")  # beginnings of the names of programs that start ranks


def is_on_terminal() -> bool:
    """Whether standard error goes to a terminal, perhaps by a pipe to the program that started the ranks."""
    if sys.stderr.isatty():
        return True
    with suppress(OSError, ValueError):
        if not stat.S_ISFIFO(os.fstat(sys.stderr.fileno()).st_mode):
            return False
        pid = os.getppid()
        while pid > 1:
            name, _, fields = Path(f"/proc/{pid}/stat").read_text().partition("(")[2].rpartition(")")
            if name.startswith(LAUNCHERS):
                return os.readlink(f"/proc/{pid}/fd/2").startswith("/dev/pts/")
            pid = int(fields.split()[1])
    return False


class Progress:
    """A bar of tqdm on PE 0's stderr, if it goes to a terminal and tqdm is installed; else nothing.

    total: the most iterations
    """

    def __init__(self, pe: int, total: int):
        self._is_shown, self._total, self._begin_s = pe == 0 and is_on_terminal(), total, time.perf_counter()
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
            self._bar = tqdm(total=self._total, unit=" iterations", leave=False, ncols=80)
        if residual is not None:
            self._bar.set_postfix_str(f"residual {residual:.1e}", refresh=False)
        self._bar.update(iterations - self._bar.n)

    def close(self) -> None:
        """Remove the bar."""
        if self._bar is not None:
            self._bar.close()
