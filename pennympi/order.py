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

What is not in the order: ``wait_signal``, a single warp that always finds room, since a call holds at most half of
each multiprocessor; and kernels of the user's own.
"""

from dataclasses import dataclass, field
from typing import Any, Protocol


class Streams(Protocol):
    """What a device must be able to do.  ``end`` is a place in a graph under capture."""

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
    """The calls of one stream in the present group."""

    event: Any
    blocks: int = 0
    workspaces: set[Any] = field(default_factory=set)
    recorded: bool = True
    owner: Any = None


class Order:
    """``enter`` before a launch that waits for peers, ``leave`` after it.

    streams: the device's;  blocks: what the calls that run at once may hold together
    """

    def __init__(self, streams: Streams, blocks: int):
        self._streams, self._blocks = streams, blocks
        self._group: dict[int, _Holder] = {}
        self._before: list[Any] = []  # events behind the last group
        self._spare: list[Any] = []
        self._last, self._capture = 0, 0  # the stream of the call under way, and the capture that it is in
        self._mark: Any = None  # the event that stands behind all, once there are graphs
        self._captured: dict[int, tuple[int, Any]] = {}  # capture -> its last stream, and the end there

    def enter(self, handle: int, stream: Any, blocks: int, workspace: Any) -> None:
        """Put what comes on a stream behind the calls that it may not run beside.

        blocks: that it holds;  workspace: names the memory that calls at the same time may not share
        """
        self._last = handle
        self._capture = self._streams.capture_id(handle)
        if self._capture:
            self._enter_graph(handle)
            return
        if self._mark is not None:
            self._streams.wait(self._mark, handle)
            return
        mine = self._group.get(handle)
        if mine is None or len(self._group) > 1:
            mine = self._join(handle, stream, blocks, workspace)
        if blocks > mine.blocks:
            mine.blocks = blocks
        mine.workspaces.add(workspace)

    def leave(self) -> None:
        """The launch has been made."""
        handle = self._last
        if self._capture:
            end = self._captured.get(self._capture, (0, None))[1]
            self._captured[self._capture] = handle, self._streams.record_at_end(self._mark, handle, end)
            return
        if self._mark is not None:
            self._streams.record(self._mark, handle)
            return
        mine = self._group[handle]
        mine.recorded = False
        if mine.owner is None:  # the handle may be another stream's by the time the event is wanted
            self._settle(handle, mine)

    def settle(self) -> None:
        """Call before a launch that may hold its stream up for long: what comes later waits for the calls alone."""
        for handle, one in self._group.items():
            self._settle(handle, one)

    def _settle(self, handle: int, one: _Holder) -> None:
        if not one.recorded:
            self._streams.record(one.event, handle)
            one.recorded = True

    def _join(self, handle: int, stream: Any, blocks: int, workspace: Any) -> _Holder:
        """The stream's place in a group: in this one, or in the next."""
        others = [one for other, one in self._group.items() if other != handle]
        mine = self._group.get(handle)
        held = sum(one.blocks for one in others) + max(blocks, mine.blocks if mine else 0)
        if others and (held > self._blocks or any(workspace in one.workspaces for one in others)):
            self.settle()
            self._spare += self._before
            self._before = [one.event for one in self._group.values()]
            self._group.clear()
            mine = None
        if mine is None:
            event = self._spare.pop() if self._spare else self._streams.new_event()
            mine = self._group[handle] = _Holder(event, owner=self._streams.owner(stream))
            for before in self._before:
                self._streams.wait(before, handle)
        return mine

    def _enter_graph(self, handle: int) -> None:
        if self._mark is None:
            self.settle()
            self._mark = self._streams.new_event()
            self._streams.record_after_all(self._mark, [*self._before, *(one.event for one in self._group.values())])
            self._group.clear()
        if self._capture in self._captured:
            last, end = self._captured[self._capture]
            if last != handle:
                self._streams.follow(handle, end)
        else:
            self._streams.wait_inside(self._mark, handle)
