"""SIGTERM and SIGUSR1 as wishes that are noted at once and granted where all PEs agree."""

import signal
from types import FrameType
from typing import Any

STOP, SAVE = signal.SIGTERM, signal.SIGUSR1


class Wishes:
    """``stop`` (checkpoint, then end) and ``saves`` (how often: checkpoint, then go on), while entered.

    The signal may have reached this PE only.  Needs the main thread, as Python's signal handlers do.
    """

    def __init__(self) -> None:
        self.stop, self.saves = False, 0
        self._before: dict[signal.Signals, Any] = {}

    def __enter__(self) -> "Wishes":
        self._before = {one: signal.signal(one, self._note) for one in (STOP, SAVE)}
        return self

    def __exit__(self, *exc: Any) -> None:
        for one, handler in self._before.items():
            signal.signal(one, handler)

    def _note(self, number: int, frame: FrameType | None) -> None:
        if number == STOP:
            self.stop = True
        else:
            self.saves += 1
