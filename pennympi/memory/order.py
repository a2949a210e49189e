"""The order of all calls that wait for peers: each process runs its own in the order in which it made them.

A launch that waits for a peer holds multiprocessors meanwhile.  Two of them on two streams could each fill the device of
one PE and wait for the other there, for ever.  So one ``Order`` serves all teams, streams, plans and graphs of a process:
a call begins when those in front of it have ended.  The collectives that all PEs issue in the same order then complete:
the first of them that has not ended finds everything in front of it ended, on every PE.

Calls that together hold no more than the device has to give (``sms=``), and that share no workspace, form a group and
may run at once.  A new call joins the group, or the next group begins with it, behind all of this one.

An event stands behind the last call of each stream of a group.  It is recorded when another stream needs it, or before
the first launch on any stream that could hold this one up (``settle``); on one stream alone, never.  A captured graph
begins with a node that waits for an event outside it and ends with one that records it, each time it runs.  From the
first graph on calls run strictly one after another, each between a wait for that event and a record of it.

What is not in the order: ``wait_signal``, a single warp that always finds room, since a call holds one block on each
multiprocessor and leaves room beside it; and kernels of the user's own.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol


class Streams(Protocol):
    """What a device must be able to do.  ``end`` is a place in a graph under capture."""

    def is_capturing(self, handle: int) -> bool: ...
    def capture_id(self, handle: int) -> int:
        """A number that names the graph capture under way on the stream, or 0."""

    def owner(self, stream: Any) -> Any:
        """An object that keeps the stream alive, or None where nothing here can."""

    def new_event(self) -> Any: ...
    def record(self, event: Any, handle: int) -> None: ...
    def wait(self, event: Any, handle: int) -> None:
        """Make the stream wait for the event's last record."""

    def wait_inside(self, event: Any, handle: int) -> None:
        """In a capture, make the graph wait for the event's last record each time it runs."""

    def record_after_all(self, event: Any, events: list[Any]) -> None:
        """Record an event behind other events."""

    def follow(self, handle: int, end: Any) -> None:
        """In a capture, make the stream wait for an ``end`` on another stream of it."""

    def record_at_end(self, event: Any, handle: int, end: Any) -> Any:
        """In a capture, have the graph record the event behind the stream's last node, no longer behind ``end``."""


@dataclass
class _Holder:
    """A stream, and its calls in the present group.  event: behind the last of them, if it is recorded"""

    handle: int
    event: Any
    owner: Any = None
    blocks: int = 0
    workspaces: set[Any] = field(default_factory=set)
    recorded: bool = True


class Order:
    """The order of one process.

    streams: the device's;  blocks: what the calls that run at once may hold together
    """

    def __init__(self, streams: Streams, blocks: int):
        self._streams, self._blocks = streams, blocks
        self._is_capturing = streams.is_capturing
        self._holders: dict[int, _Holder] = {}  # by handle
        self._group: list[_Holder] = []
        self._sole: _Holder | None = None  # where the group is one stream
        self._before: list[Any] = []  # events behind the last group
        self._mark: Any = None  # the event that stands behind all, once there are graphs
        self._captured: dict[int, tuple[int, Any]] = {}  # capture -> its last stream, and the end there

    def call(
        self, run: Callable[..., None], args: tuple[Any, ...], handle: int, stream: Any, blocks: int, workspace: Any
    ) -> None:
        """run(*args, handle), a launch that waits for peers, behind the calls that it may not run beside.

        blocks: that it holds;  workspace: names the memory that calls at the same time may not share
        """
        must_leave = self._enter(handle, stream, blocks, workspace)
        run(*args, handle)
        if must_leave:
            self._leave(handle)

    def _enter(self, handle: int, stream: Any, blocks: int, workspace: Any) -> bool:
        """Have what comes on a stream wait; whether ``_leave`` has to follow."""
        if self._is_capturing(handle):
            self._enter_graph(handle)
            return True
        if self._mark is not None:
            self._streams.wait(self._mark, handle)
            return True
        mine = self._sole
        if mine is None or mine.handle != handle or blocks > mine.blocks or workspace not in mine.workspaces:
            mine = self._join(handle, stream, blocks, workspace)
        mine.recorded = False
        return mine.owner is None  # the handle may be another stream's by the time the event is wanted

    def _leave(self, handle: int) -> None:
        if self._is_capturing(handle):
            capture = self._streams.capture_id(handle)
            end = self._captured.get(capture, (0, None))[1]
            self._captured[capture] = handle, self._streams.record_at_end(self._mark, handle, end)
        elif self._mark is not None:
            self._streams.record(self._mark, handle)
        else:
            self.settle()

    def settle(self) -> None:
        """Call before a launch that may hold its stream up for long: what comes later waits for the calls alone."""
        for one in self._group:
            if not one.recorded:
                self._streams.record(one.event, one.handle)
                one.recorded = True

    def _join(self, handle: int, stream: Any, blocks: int, workspace: Any) -> _Holder:
        """The stream's place in a group: in this one, or in the next."""
        mine = self._holders.get(handle)
        if mine is None:
            mine = self._holders[handle] = _Holder(handle, self._streams.new_event())
        others = [one for one in self._group if one is not mine]
        joined = len(others) < len(self._group)
        held = sum(one.blocks for one in others) + max(blocks, mine.blocks if joined else 0)
        if others and (held > self._blocks or any(workspace in one.workspaces for one in others)):
            self.settle()
            self._before = [one.event for one in self._group]
            for one in self._group:
                one.owner = None
            self._group, joined = [], False
        if not joined:
            mine.owner, mine.blocks, mine.workspaces = self._streams.owner(stream), 0, set()
            self._group.append(mine)
            for event in self._before:
                if event is not mine.event:
                    self._streams.wait(event, handle)
        mine.blocks = max(mine.blocks, blocks)
        mine.workspaces.add(workspace)
        self._sole = mine if len(self._group) == 1 else None
        return mine

    def _enter_graph(self, handle: int) -> None:
        if self._mark is None:
            self.settle()
            self._mark = self._streams.new_event()
            self._streams.record_after_all(self._mark, [*self._before, *(one.event for one in self._group)])
            self._group, self._sole = [], None
        capture = self._streams.capture_id(handle)
        if capture in self._captured:
            last, end = self._captured[capture]
            if last != handle:
                self._streams.follow(handle, end)
        else:
            self._streams.wait_inside(self._mark, handle)
