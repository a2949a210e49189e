"""The order of the calls that wait for peers: a process runs them in the order in which it made them.

A launch that waits for a peer occupies multiprocessors meanwhile.  Two of them on two streams could each fill the device
of one PE and wait for the other one, for ever.  So one ``Order`` serves all teams, streams, plans and graphs of a
process, and a call begins only when the calls before it have ended.  Collectives that all PEs make in the same order
then complete: of all that have not ended anywhere, the first one has nothing before it on any PE.

Calls that together need no more blocks than the device allows (``sms=``), and that share no workspace, form a group and
may run at once.  A call that does not fit into the group begins the next one, which waits for all of this one.

Each stream of a group has an event behind its last call.  It is recorded when another stream needs it, or before a
launch that may hold the stream up for long (``record_pending``); on a single stream, never.  A captured graph begins
with a node that waits for an event outside the graph and ends with a node that records it, each time the graph runs.
From the first capture on, calls run strictly one after another: each waits for that event and records it.

Two things are not in the order: ``wait_signal``, a single warp that always finds room, because a call holds one block on
each multiprocessor and leaves room beside it; and kernels of the user.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from threading import RLock
from typing import Any, Protocol

MOST_STREAMS = 1024  # whose events are kept, and captures whose ends are


class Streams(Protocol):
    """What a device must be able to do.  handle: of a stream;  end: a position in a graph under capture."""

    def is_capturing(self, handle: int) -> bool:
        """True while the stream is captured."""

    def capture_id(self, handle: int) -> int:
        """A number that names the graph capture under way on the stream, or 0."""

    def owner(self, stream: Any) -> Any:
        """An object that keeps the stream alive, or None if the library cannot."""

    def new_event(self) -> Any:
        """An event that lives as long as the process."""

    def record(self, event: Any, handle: int) -> None:
        """Record the event behind the work that is in the stream now."""

    def wait(self, event: Any, handle: int) -> None:
        """Make the stream wait for the event's last record."""

    def wait_external(self, event: Any, handle: int) -> None:
        """During capture, add a node that waits for the event's last record each time the graph runs."""

    def record_after_all(self, event: Any, events: list[Any]) -> None:
        """Record the event behind the last records of all these events."""

    def wait_for_end(self, handle: int, end: Any) -> None:
        """During capture, make the stream wait for the ``end`` of another stream of the same graph."""

    def record_at_end(self, event: Any, handle: int, end: Any) -> Any:
        """During capture, have the graph record the event behind the stream's last node.  Returns that end.

        end: where the graph has recorded the event up to now, or None
        """


@dataclass
class _StreamCalls:
    """A stream and its calls in the current group.

    event:    behind the last of these calls, once it is ``recorded``
    owner:    keeps the stream alive, so that its handle stays the same stream's; None if nothing does
    blocks:   that the largest of the calls holds;  workspaces: of the calls
    """

    handle: int
    event: Any
    owner: Any = None
    blocks: int = 0
    workspaces: set[Any] = field(default_factory=set)
    recorded: bool = True


class Order:
    """The order of one process.

    streams: the device's;  max_blocks: that calls which run at once may hold together
    lock:    held by the thread that issues a launch: those of other threads come behind it
    """

    def __init__(self, streams: Streams, max_blocks: int):
        self._streams, self._max_blocks = streams, max_blocks
        self._is_capturing = streams.is_capturing
        self.lock = RLock()
        self._by_handle: dict[int, _StreamCalls] = {}
        self._group: list[_StreamCalls] = []
        self._only: _StreamCalls | None = None  # the stream of a group that has one stream
        self._events_before: list[Any] = []  # behind the previous group
        self._graph_event: Any = None  # behind all calls, once there are graphs
        self._late: list[_StreamCalls] = []  # whose calls are not behind that event yet
        self._captured: dict[int, tuple[int, Any]] = {}  # capture -> its last stream, and the end there

    def call(
        self, run: Callable[..., None], args: tuple[Any, ...], handle: int, stream: Any, blocks: int, workspace: Any
    ) -> None:
        """Run ``run(*args, handle)``, a launch that waits for peers, behind the calls that it may not run beside.

        handle, stream: the stream of the launch;  blocks: that the launch holds
        workspace:      a hashable name of memory that calls which run at once may not share
        """
        with self.lock:
            record_after = self._wait_before(handle, stream, blocks, workspace)
            run(*args, handle)
            if record_after:
                self._record_after(handle)

    def _wait_before(self, handle: int, stream: Any, blocks: int, workspace: Any) -> bool:
        """Make the stream wait for earlier calls.  True if ``_record_after`` has to follow the launch."""
        if self._is_capturing(handle):
            self._wait_in_graph(handle)
            return True
        if self._graph_event is not None:
            self._catch_up()
            self._streams.wait(self._graph_event, handle)
            return True
        mine = self._only
        if mine is None or mine.handle != handle or blocks > mine.blocks or workspace not in mine.workspaces:
            mine = self._join(handle, stream, blocks, workspace)
        mine.recorded = False
        return mine.owner is None  # later the handle may be another stream's

    def _record_after(self, handle: int) -> None:
        if self._is_capturing(handle):
            capture = self._streams.capture_id(handle)
            end = self._captured.get(capture, (0, None))[1]
            self._captured[capture] = handle, self._streams.record_at_end(self._graph_event, handle, end)
            if len(self._captured) > MOST_STREAMS:
                del self._captured[next(iter(self._captured))]
        elif self._graph_event is not None:
            self._streams.record(self._graph_event, handle)
        else:
            self.record_pending()

    def record_pending(self) -> None:
        """Record the events of the group's streams now, so that later calls wait for the calls before them only.

        Call it before any launch that may hold its stream up for long, and before the host waits: programs wait before
        they begin a capture, during which a stream's earlier calls can't be recorded.
        """
        with self.lock:
            self._record(self._group)

    def _record(self, some: list[_StreamCalls]) -> None:
        for one in some:
            # A record under capture would make the event a part of the graph: outside it CUDA then refuses to wait.
            if not one.recorded and not self._is_capturing(one.handle):
                self._streams.record(one.event, one.handle)
                one.recorded = True

    def _join(self, handle: int, stream: Any, blocks: int, workspace: Any) -> _StreamCalls:
        """Add a call to the current group, or begin the next group with it.  Returns its stream's entry."""
        mine = self._by_handle.get(handle)
        if mine is None:
            mine = self._by_handle[handle] = self._new_stream(handle)
        others = [one for one in self._group if one is not mine]
        joined = len(others) < len(self._group)
        held = sum(one.blocks for one in others) + max(blocks, mine.blocks if joined else 0)
        if others and (held > self._max_blocks or any(workspace in one.workspaces for one in others)):
            self.record_pending()
            self._events_before = [one.event for one in self._group]
            for one in self._group:
                one.owner = None
            self._group, joined = [], False
        if not joined:
            mine.owner, mine.blocks, mine.workspaces = self._streams.owner(stream), 0, set()
            self._group.append(mine)
            for event in self._events_before:
                if event is not mine.event:
                    self._streams.wait(event, handle)
        mine.blocks = max(mine.blocks, blocks)
        mine.workspaces.add(workspace)
        self._only = mine if len(self._group) == 1 else None
        return mine

    def _new_stream(self, handle: int) -> _StreamCalls:
        """An entry for a stream that has none.  Of many, the oldest stream that no call waits for gives up its own."""
        if len(self._by_handle) >= MOST_STREAMS:
            for old in self._by_handle.values():
                if old not in self._group and old.event not in self._events_before:
                    return _StreamCalls(handle, self._by_handle.pop(old.handle).event)
        return _StreamCalls(handle, self._streams.new_event())

    def _wait_in_graph(self, handle: int) -> None:
        """Make a captured call wait for the calls before it, inside and outside its graph."""
        if self._graph_event is None:
            self._graph_event = self._streams.new_event()
            self._streams.record_after_all(self._graph_event, self._events_before)
            self._late, self._group, self._only = self._group, [], None
        self._catch_up()
        capture = self._streams.capture_id(handle)
        if capture in self._captured:
            last, end = self._captured[capture]
            if last != handle:
                self._streams.wait_for_end(handle, end)
        else:
            self._streams.wait_external(self._graph_event, handle)

    def _catch_up(self) -> None:
        """Bring the graphs' event behind the calls of the last group; those of a stream under capture when that ends.

        Until then a graph comes behind these on their own stream alone.
        """
        if self._late:
            self._record(self._late)
            done = [one.event for one in self._late if one.recorded]
            self._late = [one for one in self._late if not one.recorded]
            if done:
                self._streams.record_after_all(self._graph_event, [self._graph_event, *done])
