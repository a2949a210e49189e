"""The order of launches that wait for peers, on streams that write down what is asked of them."""

import random

import pytest
from mpi4py import MPI
from noted_streams import NotedStreams

from pennympi.memory.order import Order

if MPI.COMM_WORLD.Get_size() > 1:
    pytest.skip("no PE is needed: run these tests without mpirun", allow_module_level=True)

ALL = 8  # blocks of the device that calls may hold


@pytest.fixture
def streams():
    return NotedStreams()


def call(order, streams, number, stream, blocks=ALL, workspace=0):
    waits = []
    order.call(lambda handle: waits.append(streams.launch(handle, number)), (), stream, stream, blocks, workspace)
    return waits[0]


def test_one_stream_costs_no_event(streams):
    order = Order(streams, ALL)
    for number in range(10):
        call(order, streams, number, 1, blocks=1 + number % ALL, workspace=number)
    assert not streams.said


def test_a_stream_that_comes_back_later_waits_again(streams):
    order = Order(streams, ALL)
    for number, stream in enumerate([1, 2, 3, 1, 3, 2, 2, 1]):
        assert call(order, streams, number, stream) >= set(range(number))


def test_any_streams_run_one_after_another(streams):
    order, choice = Order(streams, ALL), random.Random(1)
    for number in range(300):
        assert call(order, streams, number, choice.randrange(4)) >= set(range(number))


def test_what_fits_together_runs_at_once_and_nothing_else(streams):
    """Of any launches that may run at the same time, the blocks fit and the workspaces differ."""
    order, choice = Order(streams, ALL), random.Random(2)
    sizes, spaces, waits, at_once = [], [], [], 0
    for number in range(400):
        sizes.append(choice.choice([1, 2, 3, 4, ALL]))
        spaces.append(choice.randrange(6))
        waits.append(call(order, streams, number, choice.randrange(5), sizes[-1], spaces[-1]))
        beside = [one for one in range(number) if one not in waits[-1]]
        # Launches that wait for one another are not at once: the most that run beside this one are one a stream.
        assert all(spaces[one] != spaces[-1] for one in beside)
        heads = [one for one in beside if not any(one in waits[other] for other in beside)]
        assert sum(sizes[one] for one in heads) + sizes[-1] <= ALL
        at_once += bool(beside)
    assert at_once > 20


def test_a_wait_behind_a_call_holds_nobody_up(streams):
    """PE 0: call on 1, wait on 1, call on 2.  The second call waits for the first, not for the wait behind it."""
    order = Order(streams, ALL)
    call(order, streams, "first", 1)
    order.record_pending()
    streams.launch(1, "wait")
    assert call(order, streams, "second", 2) == {"first"}


def test_a_stream_that_nobody_keeps_alive_is_recorded_at_once(streams):
    order, streams.owned = Order(streams, ALL), False
    call(order, streams, "first", 1)
    assert [what for what, *_ in streams.said] == ["record"]
    streams.behind[1] = frozenset({"of another stream with that handle"})
    assert call(order, streams, "second", 2) == {"first"}


def test_a_graph_waits_from_outside_and_is_waited_for(streams):
    order = Order(streams, ALL)
    call(order, streams, 0, 1)
    call(order, streams, 1, 2, 1, "other")
    streams.captures = {3: 77, 4: 77}
    call(order, streams, "inside", 3)
    call(order, streams, "inside too", 3)
    call(order, streams, "a branch", 4)
    mark = len(streams.events)
    assert streams.events[mark] == {0, 1}, "the event that the graph waits for is behind all that was issued"
    ends = [("wait external", mark, 3), ("end", mark, 3), ("end", mark, 3), ("wait for end", 4, 3), ("end", mark, 4)]
    assert [said for said in streams.said if said[0] != "record"][-5:] == ends
    streams.captures = {}
    streams.events[mark] |= {"the graph"}  # it has run
    assert call(order, streams, 2, 1) >= {"the graph", 0, 1}
    assert call(order, streams, 3, 2, 1, "other") >= {"the graph", 0, 1, 2}


def test_two_captures_at_a_time_are_two_graphs(streams):
    order = Order(streams, ALL)
    streams.captures = {1: 5, 2: 6}
    for stream in (1, 2, 1, 2):
        call(order, streams, 0, stream)
    assert [what for what, *_ in streams.said] == ["wait external", "end", "wait external", "end", "end", "end"]


def test_a_capture_on_the_stream_of_the_calls_before_it(streams):
    """Calls in front of a capture can't be recorded while it lasts: a later call is behind them, graph or no graph."""
    order = Order(streams, ALL)
    call(order, streams, "before", 1, 1, "one")
    call(order, streams, "beside", 2, 1, "two")
    streams.captures = {1: 77}
    order.record_pending()  # as a kernel of the user's does
    call(order, streams, "inside", 1)
    assert streams.events[streams.mark] == {"beside"}
    assert call(order, streams, "meanwhile", 2) == {"beside"}
    streams.captures, streams.behind[1] = {}, frozenset({"before"})  # the graph is never launched
    assert call(order, streams, "after", 3) == {"before", "beside", "meanwhile"}
    said = len(streams.said)
    call(order, streams, "last", 3)
    assert [what for what, *_ in streams.said[said:]] == ["wait", "record"], "what is behind the event stays there"


def test_a_graph_waits_for_calls_before_another_capture(streams):
    order = Order(streams, ALL)
    call(order, streams, "before", 1)
    streams.captures = {1: 77}
    call(order, streams, "inside", 1)
    streams.captures, streams.behind[1] = {2: 78}, frozenset({"before"})
    call(order, streams, "inside another", 2)
    assert streams.events[streams.mark] == {"before"}
