"""The order of calls that wait for peers: a process runs them one after another, in the order in which it issued them.

ARCHITECTURE.md says why.  A process has one ``Order`` for all teams, streams, plans and graphs.

The order is held by an event after the last call.  A call on another stream waits for that event.  While all calls stay
on one stream the event is not recorded, since a record between two kernels keeps the second kernel from starting while
the first kernel ends.  The event is recorded when a call goes to another stream, and before a launch that may block the
stream for long (``record_pending``).  At that time the stream must still be alive, since CUDA gives the handle of a
destroyed stream to a new stream.  So the order keeps the last call's stream alive.  If it can't (``Events.owner``), it
records the event after each call, and each call waits for the event.

A captured graph begins with a node that waits for the event and ends with a node that records the event, each time it
runs.  After the first capture all calls wait for the event and record it.  A loop counts as one call, and its graph may
contain no event: the calls of its body wait only for each other (``body``).

Kernels of the user, and ``wait_signal``, a single warp, are not in the order.  They always find room, since a call holds
one block on each multiprocessor and leaves room for other kernels.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import RLock
from typing import Any, Protocol

MOST_CAPTURES = 64  # most captures under way at the same time


class Events(Protocol):
    """The functions of a device that the order needs.  handle: handle of a stream;  end: position in a graph under
    capture

    is_capturing:  whether the stream is captured;  capture_id: number of the stream's capture, or 0
    owner:         an object that keeps the stream alive while the object lives, or None
    new_event:     an event that has passed, and lives as long as the process
    record:        record the event after the work that the stream has so far
    wait:          make the stream wait for the event's last record
    wait_external: during capture, add a node that waits for the event's last record each time the graph runs
    wait_for_end:  during capture, make the stream wait for the ``end`` of another stream of the same graph
    record_at_end: during capture, make the graph record the event after the stream's last node in place of ``end``, the
                   result of the previous call (None: there is none); returns the new end.  event None: record no event
    """

    def is_capturing(self, handle: int) -> bool: ...
    def capture_id(self, handle: int) -> int: ...
    def owner(self, stream: Any) -> Any: ...
    def new_event(self) -> Any: ...
    def record(self, event: Any, handle: int) -> None: ...
    def wait(self, event: Any, handle: int) -> None: ...
    def wait_external(self, event: Any, handle: int) -> None: ...
    def wait_for_end(self, handle: int, end: Any) -> None: ...
    def record_at_end(self, event: Any | None, handle: int, end: Any) -> Any: ...


class Order:
    """The order of a process.

    lock: lock that a thread holds while it issues a launch
    last: event after the last call, unless its record is pending
    """

    def __init__(self, events: Events):
        self._events, self._is_capturing = events, events.is_capturing
        self.lock = RLock()
        self.last = events.new_event()
        self._handle: int | None = None  # handle of the last call's stream, if an owner keeps the stream alive
        self._owner: Any = None
        self._pending = False  # True if the event must still be recorded after the last call
        self._late: list[tuple[int, Any]] = []  # streams under capture, with unrecorded earlier calls
        self._has_graphs = False
        self._captures: dict[int, tuple[int, Any, Any]] = {}  # {number: (last call's stream, its owner, its end)}
        self._bodies: set[int] = set()  # numbers of the captures that are bodies of loops

    def enqueue(self, run: Callable[..., None], args: tuple[Any, ...], handle: int, stream: Any) -> None:
        """Run ``run(*args, handle)``, a launch on a stream that waits for peers, after all calls before it."""
        with self.lock:
            if self._is_capturing(handle):
                self._call_in_graph(run, args, handle, stream)
            elif handle == self._handle:
                self._pending = True
                run(*args, handle)
            else:
                self._call_on_new_stream(run, args, handle, stream)

    def _call_on_new_stream(self, run: Callable[..., None], args: tuple[Any, ...], handle: int, stream: Any) -> None:
        """A call on a stream that may differ from the last call's stream."""
        self._leave_stream()
        self._events.wait(self.last, handle)
        owner = None if self._has_graphs or self._late else self._events.owner(stream)
        if owner is not None:
            self._handle, self._owner, self._pending = handle, owner, True
        run(*args, handle)
        if owner is None:
            self._events.record(self.last, handle)

    def _call_in_graph(self, run: Callable[..., None], args: tuple[Any, ...], handle: int, stream: Any) -> None:
        """A call under capture: it waits for the calls before it, inside and outside its graph."""
        capture = self._events.capture_id(handle)
        event = None if capture in self._bodies else self.last
        if event is not None:
            self._has_graphs = True
            self._leave_stream()
        last, owner, end = self._captures.pop(capture, (0, None, None))
        if end is None:
            if event is not None:
                self._events.wait_external(event, handle)
        elif owner is None or last != handle:
            self._events.wait_for_end(handle, end)
        run(*args, handle)
        end = self._events.record_at_end(event, handle, end)
        self._captures[capture] = handle, self._events.owner(stream), end
        if len(self._captures) > MOST_CAPTURES:
            del self._captures[next(iter(self._captures))]

    @contextmanager
    def body(self, handle: int) -> Iterator[None]:
        """The context of the capture of a stream as the body of a loop."""
        capture = self._events.capture_id(handle)
        self._bodies.add(capture)
        try:
            yield
        finally:
            self._bodies.discard(capture)
            self._captures.pop(capture, None)

    def in_body(self, handle: int) -> bool:
        """Whether the stream is captured as a part of a loop's body."""
        return bool(self._bodies) and self._events.capture_id(handle) in self._bodies

    def record_pending(self) -> None:
        """Record a pending event, so that later calls wait only for the calls before this moment.

        Call it before a launch that may block its stream for long, and before the host waits.  A program waits before it
        begins a capture, and during a capture no event outside the graph can be recorded on the captured stream.
        """
        if self._pending:
            with self.lock:
                if self._handle is not None and not self._is_capturing(self._handle):
                    self._events.record(self.last, self._handle)
                    self._pending = False

    def _leave_stream(self) -> None:
        """Record the event after all calls so far.

        If their stream is being captured, this is possible only after the capture has ended.  While the capture is open,
        only work on the same stream is ordered after these calls.
        """
        self.record_pending()
        if self._pending and self._handle is not None:
            self._late.append((self._handle, self._owner))
        self._handle, self._owner, self._pending = None, None, False
        ended = [late for late in self._late if not self._is_capturing(late[0])]
        for late in ended:
            self._late.remove(late)
            self._events.wait(self.last, late[0])
            self._events.record(self.last, late[0])
