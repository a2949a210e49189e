"""Streams of the host backend: everything runs at once and in order."""

from typing import Any


class Event:
    """Stands where a CUDA event stands; on the host it has always passed."""

    def synchronize(self) -> None:
        """Return at once."""


class Stream:
    """Stands where a CUDA stream stands, so that one program runs on both backends.

    priority: "normal" or "high"; kept, without effect
    """

    def __init__(self, priority: str = "normal"):
        self.priority = priority

    def __repr__(self) -> str:
        return f"<stream of the host backend, priority {self.priority!r}>"

    def synchronize(self) -> None:
        """Return at once: every call has finished when it returned."""

    def record(self, event: Event | None = None) -> Event:
        """An event that has passed."""
        return event or Event()

    def wait_event(self, event: Event) -> None:
        """Return at once."""

    def __enter__(self) -> "Stream":
        return self

    def __exit__(self, *exc: Any) -> None:
        return None


def check(stream: Any) -> None:
    """Raise TypeError for something that is not a stream of this backend (or None)."""
    if stream is not None and not isinstance(stream, Stream):
        raise TypeError(f"{type(stream).__name__} is not a stream of the host backend: use team.stream(), or None")


# See ``pennympi.memory.order.Streams``: all streams are one on the host, and the work that was issued has finished.
def is_capturing(handle: int) -> bool:
    """No stream is ever captured."""
    return False


def capture_id(handle: int) -> int:
    """0: no stream is ever captured."""
    return 0


def owner(stream: Any) -> Any:
    """Any object: a stream of the host needs nothing to stay alive."""
    return Stream


def new_event() -> Event:
    """An event that has passed."""
    return Event()


def _nothing(*args: Any) -> None:
    """Do nothing: all work that was issued has finished."""


record = wait = wait_external = record_after_all = wait_for_end = record_at_end = _nothing
