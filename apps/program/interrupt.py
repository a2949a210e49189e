"""SIGTERM and SIGUSR1 as wishes, noted at once and granted when all PEs have agreed on them."""

import signal
from types import FrameType
from typing import Any

STOP, SAVE = signal.SIGTERM, signal.SIGUSR1


class Wishes:
    """A context manager that notes this process's signals.

    stop:  whether SIGTERM came: write a checkpoint, then end
    saves: how often SIGUSR1 came: write a checkpoint, then go on
    The signals may reach one PE only.  It must be entered in the main thread, as Python's signal handlers demand.
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
