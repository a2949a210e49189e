"""What each call of a team passes first: is the team open, and, in debug mode, do its PEs make the same call?

To compare, a PE writes a digest of its call, with the number of the comparison, where the other PEs of its node read it,
and reads theirs: a microsecond or two.  Two words of a PE, used in turn, are enough: nobody is two comparisons ahead.
"""

import os
import time
from collections.abc import Callable
from functools import lru_cache
from hashlib import blake2b

from .errors import CollectiveMismatchError, NotInitialized, PeerTimeout
from .job.control import COMPUTING, WAITING
from .job.job import Job
from .job.rendezvous import Deadline
from .settings import setting

DIGEST_BITS, NUMBER_MASK = 60, 7  # of a word: a digest, and half of the comparison's number above it
SPINS, BUSY_S, NAP_S = 64, 0.002, 1e-4  # polls before a PE gives way to others; how long it only yields; then sleeps
FINALIZED = "this team is finalized: make a new one with pennympi.init()"


class CallGuard:
    """The guard of one team's calls.

    is_open: False once the team is finalized
    debug:   calls are compared among the PEs before anything is sent (PENNYMPI_DEBUG)
    count:   called with the words for a collective call, the same on every PE: counts it where the others can see it,
             and in debug mode compares it with theirs.  Raises CollectiveMismatchError, PeerTimeout
    """

    def __init__(self, job: Job):
        self.is_open, self._why = True, ""
        self.debug: bool = setting("PENNYMPI_DEBUG")
        self.count: Callable[[str], None] = self._compare_and_count if self.debug else job.control.enter
        self._job, self._plans, self._compared = job, 0, 1

    def check_open(self) -> None:
        """Raise NotInitialized once the team is finalized."""
        if not self.is_open:
            raise NotInitialized(self._why)

    def close(self, why: str) -> None:
        """Let every call raise NotInitialized."""
        self.is_open, self._why = False, why

    def enter(self, text: str) -> None:
        """``check_open``, then ``count``."""
        self.check_open()
        self.count(text)

    def next_plan(self) -> int:
        """The number of a new plan, from 1: the same on every PE, since all make the same plans."""
        self._plans += 1
        return self._plans

    def _compare_and_count(self, text: str) -> None:
        """Nothing is counted where the PEs differ, so that the team stays as it was.  Collective."""
        job = self._job
        same = self._same_on_node(text) if job.control.n_local == job.n_pes else None
        if not same:
            texts = job.gather(text, "comparison of calls")
            if any(one != texts[0] for one in texts):
                told = "; ".join(f"PE {pe} {one}" for pe, one in enumerate(texts[:16]))
                raise CollectiveMismatchError(f"the PEs make different calls, and nothing was sent: {told}")
        job.control.enter(text)

    def _same_on_node(self, text: str) -> bool:
        """Whether all PEs, which are on this node, have come with this text.  Collective; the same on every PE."""
        control, same = self._job.control, True
        self._compared = number = self._compared + 1
        tag = number // 2 & NUMBER_MASK
        own = tag << DIGEST_BITS | _digest(text)
        control.set_compared(number, own)
        for pe in control.pes:
            spins = 0
            word = control.compared(pe, number)
            while word >> DIGEST_BITS != tag:
                spins += 1
                if spins > SPINS:
                    self._wait_long(text, number)
                word = control.compared(pe, number)
            same = same and word == own
        return same

    def _wait_long(self, text: str, number: int) -> None:
        """Give way to other processes until all PEs have come.  Raises PeerTimeout."""
        job, control, since_s = self._job, self._job.control, time.monotonic()
        absent, deadline = _Absent(job, number), Deadline(control, job.timeout_s)
        control.set_state(WAITING)
        while absent.absent():
            if time.monotonic() - since_s < BUSY_S:
                os.sched_yield()
                continue
            time.sleep(NAP_S)
            for pe in absent.absent()[:1]:
                control.show_waiting(pe)
            if deadline.passed(absent):
                pes = absent.absent() or [-1]
                detail = f": {'; '.join(control.describe(pe) for pe in pes[:4])}."
                raise PeerTimeout(job.me, pes[0], text, timeout_s=job.timeout_s, detail=detail)
        control.set_state(COMPUTING)


class _Absent:
    """The PEs of the node that have not come to a comparison."""

    def __init__(self, job: Job, number: int):
        self._control, self._number = job.control, number

    def absent(self) -> list[int]:
        """These PEs, in order."""
        tag, control = self._number // 2 & NUMBER_MASK, self._control
        return [pe for pe in control.pes if control.compared(pe, self._number) >> DIGEST_BITS != tag]


@lru_cache(maxsize=1024)
def _digest(text: str) -> int:
    return int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "little") >> (64 - DIGEST_BITS)
