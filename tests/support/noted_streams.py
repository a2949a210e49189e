"""Streams for ``pennympi/memory/order.py`` that work out what each launch waits for, and whose handles come again."""

import weakref


class Stream:
    """What a program holds.  Where it ``owns`` the stream, the stream ends with it; else the program destroys it."""

    def __init__(self, handle, owns):
        self.handle, self.owns = handle, owns


class NotedStreams:
    """before:   of a handle, the launches in front of its stream's next one
    events:   the launches after which each was recorded;  mark: the event that graphs wait for
    captures: handle -> capture under way on it;  said: what was asked for, in its order
    """

    def __init__(self):
        self.before, self.events, self.captures = {}, {}, {}
        self.said, self.mark, self._free = [], None, []

    def new(self, owns=True):
        """A stream.  It has the handle of one that has ended, if there is any, as with CUDA."""
        handle = self._free.pop() if self._free else len(self.before) + 1
        stream, self.before[handle] = Stream(handle, owns), frozenset()
        if owns:
            weakref.finalize(stream, self._free.append, handle)
        return stream

    def destroy(self, stream):
        """End a stream that its object does not own."""
        self._free.append(stream.handle)

    def launch(self, handle, number):
        """Launch ``number``; the set of launches that it waits for."""
        waits = self.before[handle]
        self.before[handle] = waits | {number}
        return waits

    def replay(self, handle, number):
        """``launch`` of a graph that was captured with calls of the order in it."""
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
        self.said.append(("record", handle))
        self.events[event] = self.before[handle]

    def wait(self, event, handle):
        assert not self.capture_id(handle)
        self.said.append(("wait", handle))
        self.before[handle] |= self.events[event]

    def wait_external(self, event, handle):
        assert self.capture_id(handle)
        self.said.append(("wait external", handle))
        self.mark = event

    def wait_for_end(self, handle, end):
        self.said.append(("wait for end", handle, end))

    def record_at_end(self, event, handle, end):
        self.said.append(("end", handle))
        return handle
