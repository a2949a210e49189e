"""The library's order of calls (``pennympi/memory/order.py``) as a policy of ``residency.py``: its class, on streams
that note which launches stand in front of an event."""

from collections.abc import Sequence

from noted_streams import NotedStreams

from pennympi.memory.order import Order

from .residency import Ordered, Policy

CAPTURED = "captured"  # the stream of the one capture


def library_order(blocks: int, graphs: Sequence[str] = (), graph_from: int = 0) -> Policy:
    """The library's own.  blocks: what calls that run at once may hold together
    graphs: streams whose launches are replays of a graph, one launch each, captured before launch ``graph_from``"""

    def policy(launches: Sequence[Ordered]) -> list[list[int]]:
        notes = NotedStreams()
        order, waits = Order(notes, blocks), []

        def note(number: int, stream: str) -> None:
            waits.append(sorted(notes.launch(stream, number)))

        for number, (stream, held, workspace) in enumerate(launches):
            if graphs and number == graph_from:
                notes.captures = {CAPTURED: 1}
                order.call(lambda handle: None, (), CAPTURED, CAPTURED, held, workspace)
                notes.captures = {}
            if stream in graphs and number >= graph_from:
                notes.wait(notes.mark, stream)
                waits.append(sorted(notes.launch(stream, number)))
                notes.record(notes.mark, stream)
            else:
                order.call(note, (number,), stream, stream, held, workspace)
        return waits

    return policy
