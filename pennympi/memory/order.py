"""The order of the calls that wait for peers: a process runs them one by one, in the order in which it made them.

ARCHITECTURE.md says why.  One ``Order`` serves all teams, streams, plans and graphs of a process.

What holds the order is one event after the last call.  A call on another stream waits for that event.  While the calls
stay on one stream the event is not recorded, because a record between two kernels keeps the second one from starting
while the first one ends.  It is recorded when a call goes to another stream, and before a launch that may hold the stream
up for long (``record_pending``).  This needs the stream to be alive, and its handle to be still its own: CUDA gives the
handle of a destroyed stream to a new one.  So the order keeps the last call's stream alive.  Where it cannot
(``Events.owner``) it records the event after each call, and each call waits for it.

A captured graph begins with a node that waits for the event and ends with a node that records it, each time the graph
runs.  From the first capture on, all calls wait for the event and record it.  A loop is one call as a whole, and no event
may be inside it: the calls of its body wait for one another only (``body``).

Two things are not in the order: ``wait_signal``, a single warp that always finds room, because a call holds one block on
each multiprocessor and leaves room beside it; and kernels of the user.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import RLock
from typing import Any, Protocol

MOST_CAPTURES = 64  # under way at the same time


class Events(Protocol):
    """What a device must be able to do.  handle: of a stream;  end: a position in a graph under capture

    is_capturing:  whether the stream is captured;  capture_id: a number that names the capture under way on it, or 0
    owner:         an object that keeps the stream alive for as long as the object lives; None if there is none
    new_event:     an event that has passed, and lives as long as the process
    record:        record the event after the work that is in the stream now
    wait:          make the stream wait for the event's last record
    wait_external: during capture, add a node that waits for the event's last record each time the graph runs
    wait_for_end:  during capture, make the stream wait for the ``end`` of another stream of the same graph
    record_at_end: during capture, have the graph record the event after the stream's last node, and no more after
                   ``end`` (None: there is none); the new end.  event None: it is not recorded
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
    """The order of one process.

    lock: held by the thread that issues a launch; the launches of other threads come after it
    last: the event after the last call, unless that is pending
    """

    def __init__(self, events: Events):
        self._events, self._is_capturing = events, events.is_capturing
        self.lock = RLock()
        self.last = events.new_event()
        self._handle: int | None = None  # of the last call's stream, if an owner keeps that alive
        self._owner: Any = None
        self._pending = False  # whether the event has still to be recorded after the last call
        self._late: list[tuple[int, Any]] = []  # streams under capture whose calls before it are not recorded
        self._has_graphs = False
        self._captures: dict[int, tuple[int, Any, Any]] = {}  # by number: last call's stream, its owner, the end there
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
                self._call_elsewhere(run, args, handle, stream)

    def _call_elsewhere(self, run: Callable[..., None], args: tuple[Any, ...], handle: int, stream: Any) -> None:
        """A call whose stream is another than the last call's, or may be."""
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
        """While the stream is captured as the body of a loop."""
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
        """Record the event now, so that later calls wait for the calls before this moment only.

        Call it before any launch that may hold its stream up for long, and before the host waits: programs wait before
        they begin a capture, during which nothing outside the graph can be recorded on its streams.
        """
        if self._pending:
            with self.lock:
                if self._handle is not None and not self._is_capturing(self._handle):
                    self._events.record(self.last, self._handle)
                    self._pending = False

    def _leave_stream(self) -> None:
        """Record the event after all calls; after those of a stream under capture when the capture has ended.

        Until then a call, or a graph, comes after these calls on their own stream alone.
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
