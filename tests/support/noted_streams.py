"""Streams for ``pennympi/memory/order.py`` that work out what each launch waits for."""


class NotedStreams:
    """behind: of a stream, the launches in front of its next one;  events: the launches behind which each was recorded
    captures: stream -> capture under way on it;  owned: something keeps the streams alive
    said: what was asked for, in its order;  mark: the event that graphs wait for
    """

    def __init__(self):
        self.behind, self.events, self.captures, self.owned = {}, {}, {}, True
        self.said, self.mark = [], None

    def launch(self, handle, number):
        """Launch ``number``; the set of launches that it waits for."""
        waits = self.behind.get(handle, frozenset())
        self.behind[handle] = waits | {number}
        return waits

    def is_capturing(self, handle):
        return handle in self.captures

    def capture_id(self, handle):
        return self.captures.get(handle, 0)

    def owner(self, stream):
        return self if self.owned else None

    def new_event(self):
        self.events[len(self.events) + 1] = frozenset()
        return len(self.events)

    def record(self, event, handle):
        assert not self.capture_id(handle)
        self.said.append(("record", event, handle))
        self.events[event] = self.behind.get(handle, frozenset())

    def wait(self, event, handle):
        assert not self.capture_id(handle)
        self.said.append(("wait", event, handle))
        self.behind[handle] = self.behind.get(handle, frozenset()) | self.events[event]

    def wait_external(self, event, handle):
        assert self.capture_id(handle)
        self.said.append(("wait external", event, handle))
        self.mark = event

    def record_after_all(self, event, events):
        self.events[event] = frozenset().union(*(self.events[one] for one in events))

    def wait_for_end(self, handle, end):
        self.said.append(("wait for end", handle, end))

    def record_at_end(self, event, handle, end):
        self.said.append(("end", event, handle))
        return handle
