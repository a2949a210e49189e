"""Streams of the host backend: all work runs at once and in order."""

import ctypes
from collections.abc import Callable, Sequence
from itertools import cycle
from threading import RLock
from typing import Any

from ...backend import Body
from ...memory.order import Order


class Event:
    """The host's counterpart of a CUDA event; it has always passed."""

    def synchronize(self) -> None:
        """Return at once."""


class Stream:
    """The host's counterpart of a CUDA stream, so that a program runs on both backends.

    priority: "normal" or "high"; stored, without effect
    """

    def __init__(self, priority: str = "normal"):
        self.priority = priority

    def __repr__(self) -> str:
        return f"<stream of the host backend, priority {self.priority!r}>"

    def synchronize(self) -> None:
        """Return at once: every call has finished when it returned."""

    def record(self, event: Event | None = None) -> Event:
        """Return an event that has passed."""
        return event or Event()

    def wait_event(self, event: Event) -> None:
        """Return at once."""

    def __enter__(self) -> "Stream":
        return self

    def __exit__(self, *exc: Any) -> None:
        return None


class Unordered(Order):
    """The order of the host: nothing waits, since issued work has finished."""

    def __init__(self) -> None:
        self.lock = RLock()

    def enqueue(self, run: Callable[..., None], args: tuple[Any, ...], handle: int, stream: Any) -> None:
        """Run ``run(*args, handle)``."""
        run(*args, handle)

    def record_pending(self) -> None:
        """Do nothing."""


class Streams:
    """The streams of a team (``pennympi.backend.Streams``): every call has ended when it returns."""

    def __init__(self) -> None:
        self.order: Order = Unordered()

    new = current = Stream

    def handle(self, stream: Any) -> int:
        """Return 0, for any stream.  Raises TypeError."""
        if stream is not None and not isinstance(stream, Stream):
            raise TypeError(f"{type(stream).__name__} is not a stream of the host backend: use team.stream(), or None")
        return 0

    def synchronize(self, stream: Any) -> None:
        """Return at once.  Raises TypeError."""
        self.handle(stream)

    def capture_id(self, handle: int) -> int:
        """Return 0: the host has no captures."""
        return 0

    def follow(self, stream: int, predecessor: int) -> None:
        """Do nothing."""

    def hold_if_given_up(self, stream: int) -> None:
        """Do nothing: the launch has raised."""

    def repeat(self, start: Body, bodies: Sequence[Body], rest: int) -> Body:
        word = ctypes.c_int64.from_address(rest)

        def run(stream: Any) -> None:
            start(stream)
            for body in cycle(bodies):
                body(stream)
                if word.value:
                    break

        return run
