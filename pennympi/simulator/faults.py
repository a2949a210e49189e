"""The faults that a simulated team finds."""

from .. import errors
from ..errors import PennympiError


class Fault(PennympiError):
    """A program or a kernel broke a rule, under the schedule that the notes name."""


class OutOfBounds(Fault, errors.OutOfBounds):
    """An access outside its array, or not aligned; or a PE that the team does not have."""


class Race(Fault):
    """Two accesses to the same bytes, at least one of them a write, which nothing orders."""


class Deadlock(Fault):
    """No actor can run, no message is under way, and a wait has not ended."""


class Unawaited(Fault):
    """A signal for which no PE waited."""


class Differs(Fault):
    """A result that differs from that of another schedule."""
