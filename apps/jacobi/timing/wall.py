"""--timings: where the wall time of a run goes, phase by phase, and what the library was busy with in each."""

import os
import time
from collections.abc import Callable
from typing import Any

Parts = dict[str, float]  # {what the library did: seconds}
LEAST_S = 0.005  # of a part that has a line of its own


def process_age_s() -> float:
    """Seconds since this process began, to a hundredth; 0 where the system does not say."""
    try:
        with open("/proc/self/stat") as file:
            ticks = int(file.read().rpartition(")")[2].split()[19])
        return time.clock_gettime(time.CLOCK_BOOTTIME) - ticks / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError, IndexError, AttributeError):
        return 0.0


class Wall:
    """The phases of this process.  ``lap`` ends one, and the next begins.

    library: gives the seconds of the library's parts so far
    """

    def __init__(self) -> None:
        self.phases: list[tuple[str, float, Parts]] = [("Python, until the program begins", process_age_s(), {})]
        self.library: Callable[[], Parts] = dict
        self._before: Parts = {}
        self._last = time.perf_counter()

    def lap(self, phase: str) -> None:
        """Everything since the last call was ``phase``."""
        now, parts = time.perf_counter(), self.library()
        spent = {name: s - self._before.get(name, 0.0) for name, s in parts.items()}
        self.phases.append((phase, now - self._last, spent))
        self._last, self._before = now, parts

    def lines(self, comm: Any) -> list[str]:
        """A table: for each phase and part the time of PE 0, the longest of any PE, and that PE.  Collective."""
        everywhere = comm.allgather(self.phases)
        shown = [f"{'wall time':<56}{'PE 0':>8}{'longest':>9}  of PE"]
        for phase in dict.fromkeys(name for phases in everywhere for name, _, _ in phases):
            spent = [[(s, parts) for name, s, parts in phases if name == phase] for phases in everywhere]
            shown.append(_line(phase, [sum(s for s, _ in one) for one in spent]))
            for part in dict.fromkeys(part for one in spent for _, parts in one for part in parts):
                seconds = [sum(parts.get(part, 0.0) for _, parts in one) for one in spent]
                if max(seconds) >= LEAST_S:
                    shown.append(_line(f"  {part}", seconds))
        return [*shown, _line("all, from the start of the process", [sum(s for _, s, _ in one) for one in everywhere])]


def _line(name: str, seconds: list[float]) -> str:
    longest = max(seconds)
    return f"{name:<56}{seconds[0]:>6.2f} s{longest:>7.2f} s  {seconds.index(longest)}"
