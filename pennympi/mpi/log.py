"""PENNYMPI_LOG=comm: a line on stderr for each collective and each message of ``Comm``, which says how it went."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from ..notice import say
from ..settings import setting

ENABLED = setting("PENNYMPI_LOG") == "comm"
_calls_of_mpi = [0]


def log_way(comm: Any, what: str, way: str) -> None:
    """Write a line if it is wanted."""
    if ENABLED:
        say(f"pennympi: rank {comm.rank} of {comm.size}: {what} by {way}")


def noted(plain: Callable[..., Any]) -> Callable[..., Any]:
    """A collective of MPI's that ``logged`` sees."""

    def method(*args: Any, **named: Any) -> Any:
        _calls_of_mpi[0] += 1
        return plain(*args, **named)

    return wraps(plain)(method) if ENABLED else plain


def logged(method: Callable[..., Any]) -> Callable[..., Any]:
    """A collective of ``Comm``, with a line that says whether MPI did it."""

    def run(comm: Any, *args: Any, **named: Any) -> Any:
        before = _calls_of_mpi[0]
        result = method(comm, *args, **named)
        log_way(comm, method.__name__, "the team" if before == _calls_of_mpi[0] else "MPI")
        return result

    return wraps(method)(run) if ENABLED else method
