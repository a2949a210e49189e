"""The library's order of calls (``pennympi/order.py``) as a policy of ``residency.py``: its class, on streams that note
which launches stand in front of an event."""

from collections.abc import Sequence
from typing import Any

from pennympi.order import Order

from .residency import Ordered, Policy

CAPTURE = 1  # the number of the one capture


class Notes:
    """Streams and events as sets of launches.  behind: of a stream, what is in front of its next launch."""

    def __init__(self) -> None:
        self.behind: dict[Any, frozenset[int]] = {}
        self.events: list[frozenset[int]] = []
        self.capturing = False

    def is_capturing(self, handle: Any) -> bool:
        return self.capturing

    def capture_id(self, handle: Any) -> int:
        return CAPTURE

    def owner(self, stream: Any) -> Any:
        return self

    def new_event(self) -> int:
        self.events.append(frozenset())
        return len(self.events) - 1

    def record(self, event: int, handle: Any) -> None:
        self.events[event] = self.behind.get(handle, frozenset())

    def wait(self, event: int, handle: Any) -> None:
        self.behind[handle] = self.behind.get(handle, frozenset()) | self.events[event]

    def record_after_all(self, event: int, events: Sequence[int]) -> None:
        self.events[event] = frozenset().union(*(self.events[one] for one in events))

    def wait_inside(self, event: int, handle: Any) -> None:
        """Of a graph, see ``replay``."""
        self.mark = event

    def record_at_end(self, event: int, handle: Any, end: Any) -> Any:
        return handle

    def follow(self, handle: Any, end: Any) -> None:
        raise AssertionError("the machine captures on one stream")

    def launch(self, handle: Any, number: int) -> list[int]:
        """What a launch on a stream waits for."""
        waits = self.behind.get(handle, frozenset())
        self.behind[handle] = waits | {number}
        return sorted(waits)


def library_order(blocks: int, graphs: Sequence[str] = (), graph_from: int = 0) -> Policy:
    """The library's own.  blocks: what calls that run at once may hold together
    graphs: streams whose launches are replays of a graph, one launch each, captured before launch ``graph_from``"""

    def policy(launches: Sequence[Ordered]) -> list[list[int]]:
        notes = Notes()
        order, waits = Order(notes, blocks), []

        def note(number: int, stream: str) -> None:
            waits.append(notes.launch(stream, number))

        for number, (stream, held, workspace) in enumerate(launches):
            if graphs and number == graph_from:
                notes.capturing = True
                order.call(lambda handle: None, (), "captured", "captured", held, workspace)
                notes.capturing = False
            if stream in graphs and number >= graph_from:
                notes.wait(notes.mark, stream)
                waits.append(notes.launch(stream, number))
                notes.record(notes.mark, stream)
            else:
                order.call(note, (number,), stream, stream, held, workspace)
        return waits

    return policy
