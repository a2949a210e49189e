"""When a wait for another rank's message or answer makes no sense any more."""

from __future__ import annotations

import time
from typing import Any

from ..errors import PeerTimeout
from ..settings import setting
from .mailbox import SINCE, Page, own_page
from .transfer import is_waiting

_LOOK_NS = 250_000_000


class Overdue:
    """Gives PeerTimeout once a rank has shown no sign of life for PENNYMPI_TIMEOUT_S: it has ended, or waits itself.

    page: of the rank, None: its life is not known, and the wait has no end;  what: the call, in words
    """

    def __init__(self, comm: Any, rank: int, page: Page | None, what: str):
        self._me, self._rank, self._page, self._what = comm.rank, rank, page, what
        self._since_ns = self._looked_ns = time.monotonic_ns()

    def __call__(self) -> Exception | None:
        now_ns = time.monotonic_ns()
        pause_ns = now_ns - self._looked_ns
        if pause_ns < _LOOK_NS:
            return None
        self._looked_ns = now_ns
        timeout_s = setting("PENNYMPI_TIMEOUT_S")
        if self._page is None or not timeout_s or pause_ns > 8 * _LOOK_NS:  # this process was suspended
            self._since_ns = now_ns
            return None
        self._since_ns = max(self._since_ns, self._page.silent_since_ns(self._since_ns))
        if is_waiting():
            own_page().words[SINCE] = self._since_ns
        if now_ns - self._since_ns < 1e9 * timeout_s:
            return None
        return PeerTimeout(self._me, self._rank, self._what, timeout_s=timeout_s)
