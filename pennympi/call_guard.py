"""What each call of a team passes first: is the team open, and do its PEs make the same call?"""

from typing import Any

from .errors import CollectiveMismatchError, NotInitialized
from .job.job import Job
from .settings import setting

FINALIZED = "this team is finalized: make a new one with pennympi.init()"


class CallGuard:
    """The guard of one team's calls.

    is_open: False once the team is finalized
    debug:   collective calls compare their arguments among the PEs (PENNYMPI_DEBUG)
    """

    def __init__(self, job: Job):
        self.is_open, self._why = True, ""
        self.debug: bool = setting("PENNYMPI_DEBUG")
        self._job = job

    def check_open(self) -> None:
        """Raise NotInitialized once the team is finalized."""
        if not self.is_open:
            raise NotInitialized(self._why)

    def close(self, why: str) -> None:
        """Let every call raise NotInitialized."""
        self.is_open, self._why = False, why

    def enter(self, name: str) -> None:
        """Count a collective call where the other PEs can see it; in debug mode, compare its name with theirs."""
        self.check_open()
        self._job.control.enter(name)
        if self.debug:
            self.compare(name)

    def compare(self, name: str, *arguments: Any) -> None:
        """Raise CollectiveMismatchError on every PE unless all of them pass the same.  Collective."""
        calls = self._job.gather((name, *arguments), name)
        if any(other != calls[0] for other in calls):
            raise CollectiveMismatchError(
                "the PEs disagree on (call, dtype, count, op, algorithm, root, with a residual): "
                + "; ".join(f"PE {pe} {call}" for pe, call in enumerate(calls[:16]))
            )
