"""Calls that share a workspace run one after another, whatever their streams."""

from typing import Any

from .backend import Backend


class InOrder:
    """The stream of the last call, so that a call on another one can wait for it.

    The wait costs an event when the stream changes, and nothing when it does not.
    A call under graph capture stays out of it: it can't wait for what is not captured.
    """

    def __init__(self, backend: Backend):
        self._backend = backend
        self._handle: int | None = None
        self._stream: Any = None

    def follow(self, handle: int, stream: Any) -> None:
        """Put what comes on ``stream`` behind the last call."""
        if handle != self._handle and self._backend.capture_id(handle) == 0:
            if self._handle is not None:
                self._backend.order(self._handle, handle)
            self._handle, self._stream = handle, stream  # the object keeps the handle valid
