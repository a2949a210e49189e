"""What a simulated team finds."""

from .. import errors
from ..errors import PennympiError


class Fault(PennympiError):
    """A program or a kernel did what it must not do, under the schedule that the notes name."""


class OutOfBounds(Fault, errors.OutOfBounds):
    """An access outside of its array, or not aligned; or a PE that the team has not."""


class Race(Fault):
    """Two accesses of the same bytes, one of them a write, and nothing orders one before the other."""


class Deadlock(Fault):
    """Nobody can run, nothing is under way, and a wait has not ended."""


class Unawaited(Fault):
    """A signal that nobody waited for."""


class Differs(Fault):
    """A result that another schedule does not have."""
