"""The order of launches that wait for peers, on streams that record the calls of the order."""

import weakref
from random import Random

import pytest
from seed import SEED

from pennympi.memory.order import Order


class Stream:
    """A program's stream object.  If it ``owns`` the stream, the stream ends with it; else the program destroys the
    stream."""

    def __init__(self, handle, owns):
        self.handle, self.owns = handle, owns


class NotedStreams:
    """before:   {handle: launches before the next launch of the stream}
    events:   launches before each record of an event;  mark: the event that graphs wait for
    captures: {handle: open capture};  log: calls in their order
    """

    def __init__(self):
        self.before, self.events, self.captures = {}, {}, {}
        self.log, self.mark, self._free = [], None, []

    def new(self, owns=True):
        """A new stream, with the handle of a stream that has ended, if there is one, as in CUDA."""
        handle = self._free.pop() if self._free else len(self.before) + 1
        stream, self.before[handle] = Stream(handle, owns), frozenset()
        if owns:
            weakref.finalize(stream, self._free.append, handle)
        return stream

    def destroy(self, stream):
        """End a stream whose object does not own it."""
        self._free.append(stream.handle)

    def launch(self, handle, number):
        """Launch ``number``; return the set of launches that it waits for."""
        waits = self.before[handle]
        self.before[handle] = waits | {number}
        return waits

    def replay(self, handle, number):
        """``launch`` of a graph in which calls of the order were captured."""
        self.before[handle] |= self.events[self.mark]
        waits = self.launch(handle, number)
        self.events[self.mark] = self.before[handle]
        return waits

    def is_capturing(self, handle):
        return handle in self.captures

    def capture_id(self, handle):
        return self.captures.get(handle, 0)

    def owner(self, stream):
        return stream if stream.owns else None

    def new_event(self):
        self.events[len(self.events) + 1] = frozenset()
        return len(self.events)

    def record(self, event, handle):
        assert not self.capture_id(handle)
        self.log.append(("record", handle))
        self.events[event] = self.before[handle]

    def wait(self, event, handle):
        assert not self.capture_id(handle)
        self.log.append(("wait", handle))
        self.before[handle] |= self.events[event]

    def wait_external(self, event, handle):
        assert self.capture_id(handle)
        self.log.append(("wait external", handle))
        self.mark = event

    def wait_for_end(self, handle, end):
        self.log.append(("wait for end", handle, end))

    def record_at_end(self, event, handle, end):
        self.log.append(("no event" if event is None else "end", handle))
        return handle


@pytest.fixture
def streams():
    return NotedStreams()


def call(order, streams, number, stream):
    """Make a call of the order on a stream; return the launches that it waits for."""
    waits = []
    order.enqueue(lambda handle: waits.append(streams.launch(handle, number)), (), stream.handle, stream)
    return waits[0]


def test_one_stream_costs_no_event(streams):
    order, stream = Order(streams), streams.new()
    for number in range(10):
        call(order, streams, number, stream)
    assert [what for what, *_ in streams.log] == ["wait"]


def program(seed):
    """Streams that come and go, whose handles are used again, kernels of the user, captures and graphs between calls.

    Returns the first call, or launch of a graph, that does not wait for all earlier calls; None if all wait.
    """
    rng, streams, live, calls = Random(seed), NotedStreams(), [], set()
    order = Order(streams)
    for number in range(60):
        kind = rng.choice(("call", "call", "call", "new", "drop", "kernel", "capture", "graph"))
        if kind == "new" or not live:
            live.append(streams.new(owns=rng.random() < 0.7))
        stream = rng.choice(live)
        if kind == "call" or (kind == "graph" and streams.mark):
            waits = call(order, streams, number, stream) if kind == "call" else streams.replay(stream.handle, number)
            if not waits >= calls:
                return number
            calls.add(number)
        elif kind == "drop":
            live.remove(stream)
            if not stream.owns:
                streams.destroy(stream)
        elif kind == "kernel":
            order.record_pending()
            streams.launch(stream.handle, "a kernel")
        elif kind == "capture" and rng.random() < 0.3:
            order.record_pending()  # as programs do by waiting before a capture
            streams.captures, before = {stream.handle: 1 + number}, dict(streams.before)
            call(order, streams, "captured", stream)
            call(order, streams, "captured", stream)
            streams.captures, streams.before = {}, before
        del stream
    return None


def test_any_program_runs_one_call_after_another():
    for k in range(500):
        assert program(f"{SEED}/{k}") is None, f"PENNYMPI_MACHINE_SEED={SEED}, program {k}"


def test_a_wait_after_a_call_holds_nobody_up(streams):
    """PE 0 makes a call on stream 1, waits on 1, and makes a call on 2, which waits for the first call, not for the
    wait."""
    order, one, two = Order(streams), streams.new(), streams.new()
    call(order, streams, "first", one)
    order.record_pending()
    streams.launch(one.handle, "wait")
    assert call(order, streams, "second", two) == {"first"}


def test_a_graph_waits_from_outside_and_is_waited_for(streams):
    order, one, two, three, four = Order(streams), *(streams.new() for _ in range(4))
    call(order, streams, 0, one)
    call(order, streams, 1, two)
    streams.captures = {three.handle: 77, four.handle: 77}
    call(order, streams, "inside", three)
    call(order, streams, "inside too", three)
    call(order, streams, "a branch", four)
    assert streams.events[streams.mark] == {0, 1}, "the event that the graph waits for is after all that was issued"
    ends = [("wait external", 3), ("end", 3), ("end", 3), ("wait for end", 4, 3), ("end", 4)]
    assert streams.log[-5:] == ends
    streams.captures = {}
    assert streams.replay(three.handle, "the graph") >= {0, 1}
    assert call(order, streams, 2, one) >= {"the graph", 0, 1}
    assert call(order, streams, 3, two) >= {"the graph", 0, 1, 2}


def test_a_body_of_a_loop_holds_no_event(streams):
    """Calls of a body wait only for each other; the loop, captured or not, is a single call."""
    order, one, two, inner, branch = Order(streams), *(streams.new() for _ in range(4))
    call(order, streams, 0, one)
    log = len(streams.log)
    streams.captures = {inner.handle: 77, branch.handle: 77}
    with order.body(inner.handle):
        assert order.in_body(branch.handle)
        assert not order.in_body(one.handle)
        for stream in (inner, inner, branch):
            call(order, streams, "inside", stream)
    assert not order.in_body(branch.handle)
    ends = [("no event", inner.handle)] * 2
    assert streams.log[log:] == [*ends, ("wait for end", branch.handle, inner.handle), ("no event", branch.handle)]
    streams.captures = {}
    assert call(order, streams, "the loop", two) == {0}
    streams.captures = {two.handle: 78}
    call(order, streams, "a captured loop", two)
    assert [what for what, *_ in streams.log[-2:]] == ["wait external", "end"]


def test_a_capture_on_the_stream_of_the_calls_before_it(streams):
    """Calls before a capture can't be recorded during it: later calls come after them, in a graph or not."""
    order, one, two, three = Order(streams), *(streams.new() for _ in range(3))
    call(order, streams, "first", two)
    call(order, streams, "before", one)
    streams.captures = {one.handle: 77}
    order.record_pending()  # as before a kernel of the user
    call(order, streams, "inside", one)
    assert streams.events[streams.mark] == {"first"}
    assert call(order, streams, "meanwhile", two) == {"first"}
    streams.captures = {}
    streams.before[one.handle] = frozenset({"first", "before"})  # the graph is never launched
    assert call(order, streams, "after", three) == {"first", "before", "meanwhile"}
    log = len(streams.log)
    call(order, streams, "last", three)
    assert [what for what, *_ in streams.log[log:]] == ["wait", "record"], "what is before the event stays there"
