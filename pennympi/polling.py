"""Waits that poll, for events that come within microseconds as for those that take minutes."""

import os
import time
from collections.abc import Iterator

SPIN_S, MOST_NAP_S = 2e-3, 1e-3  # time of a wait before it sleeps, and its longest sleep


def poll_times() -> Iterator[float]:
    """Yield the seconds since the start, for ever.

    Between two polls the core is yielded at first; later the thread sleeps for 1/64 of the time so far.
    """
    start_s = time.monotonic()
    while True:
        passed_s = time.monotonic() - start_s
        yield passed_s
        if passed_s < SPIN_S:
            os.sched_yield()  # time.sleep(0) may take 80 us
        else:
            time.sleep(min(passed_s / 64, MOST_NAP_S))
