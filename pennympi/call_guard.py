"""The checks at the start of each call: the team is open and, in debug mode, all PEs make the same call."""

from collections.abc import Callable
from typing import Any

from .arrays.dtypes import is_int
from .errors import CollectiveMismatchError, NotInitialized
from .job.job import Job
from .settings import setting

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
        self._job, self._plans = job, 0

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
        self.compare(text, "the PEs make different calls, and nothing was sent")
        self._job.control.enter(text)

    def compare(self, text: str, difference: str) -> None:
        """Raise CollectiveMismatchError where the PEs have other texts.  difference: what it says first.  Collective."""
        texts = self._job.gather(text, "comparison of calls")
        if any(one != texts[0] for one in texts):
            calls = "; ".join(f"PE {pe} {one}" for pe, one in enumerate(texts[:16]))
            raise CollectiveMismatchError(f"{difference}: {calls}")


def check_pe(pe: Any, n_pes: int, name: str = "pe") -> int:
    """``pe`` as an int.  Raises TypeError if it is not an int, ValueError if the team has no such PE."""
    if not is_int(pe):
        raise TypeError(f"{name} {pe!r} is not an int")
    if not 0 <= pe < n_pes:
        raise ValueError(f"{name} {pe} is outside this team of {n_pes} PEs (0..{n_pes - 1})")
    return int(pe)
