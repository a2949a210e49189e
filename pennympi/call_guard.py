"""The checks at the start of each call: the team is open and, in debug mode, all PEs make the same call."""

from collections.abc import Callable
from typing import Any

from .arrays.dtypes import is_int
from .errors import CollectiveMismatchError, NotInitialized
from .job.job import Job
from .settings import setting

FINALIZED = "this team is finalized: make a new one with pennympi.init()"


class CallGuard:
    """The guard of a team's calls.

    is_open: False after the team was finalized
    debug:   calls are compared among the PEs before anything is sent (PENNYMPI_DEBUG)
    count:   called with the text of a collective call, the same on every PE: it counts the call where other PEs can see
             it, and in debug mode compares the PEs' texts.  Raises CollectiveMismatchError, PeerTimeout
    """

    def __init__(self, job: Job):
        self.is_open, self._why = True, ""
        self.debug: bool = setting("PENNYMPI_DEBUG")
        self.count: Callable[[str], None] = self._compare_and_count if self.debug else job.control.enter
        self._job, self._plans = job, 0

    def check_open(self) -> None:
        """Raise NotInitialized if the team was finalized."""
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
        """The number of a new plan, from 1; the same on every PE, since all PEs make the same plans."""
        self._plans += 1
        return self._plans

    def _compare_and_count(self, text: str) -> None:
        """Compare, then count: a call that differs is not counted, so that the team stays as it was.  Collective."""
        self.compare(text, "the PEs make different calls, and nothing was sent")
        self._job.control.enter(text)

    def compare(self, text: str, difference: str) -> None:
        """Raise CollectiveMismatchError if the PEs' texts differ.  difference: start of the message.  Collective."""
        texts = self._job.gather(text, "comparison of calls")
        if any(text_of_pe != texts[0] for text_of_pe in texts):
            calls = "; ".join(f"PE {pe} {text_of_pe}" for pe, text_of_pe in enumerate(texts[:16]))
            raise CollectiveMismatchError(f"{difference}: {calls}")


def check_pe(pe: Any, n_pes: int, name: str = "pe") -> int:
    """``pe`` as an int.  Raises TypeError if it is not an int, ValueError if the team has no such PE."""
    if not is_int(pe):
        raise TypeError(f"{name} {pe!r} is not an int")
    if not 0 <= pe < n_pes:
        raise ValueError(f"{name} {pe} is outside this team of {n_pes} PEs (0..{n_pes - 1})")
    return int(pe)
