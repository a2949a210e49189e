"""PENNYMPI_LOG=comm: a line on stderr for each collective and each message of ``Comm``, with the way that it took."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from ..notice import say
from ..settings import SettingError, setting

try:
    LOGS = setting("PENNYMPI_LOG") == "comm"
except SettingError:  # which all ranks raise when they compare their settings
    LOGS = False


def log_way(comm: Any, call: str, way: str) -> None:
    """Write a line if the setting asks for it."""
    if LOGS:
        say(f"pennympi: rank {comm.rank} of {comm.size}: {call} by {way}")


def logged(plain: Callable[..., Any]) -> Callable[..., Any]:
    """A method of MPI that also writes a line."""

    @wraps(plain)
    def method(comm: Any, *args: Any) -> Any:
        log_way(comm, plain.__name__, "MPI")
        return plain(comm, *args)

    return method
