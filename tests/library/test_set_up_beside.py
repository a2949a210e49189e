"""Symmetric arrays are made while a stream waits for a peer, or is captured: set-up waits for neither."""

import numpy as np
import pytest
from on_device import same

pytestmark = [pytest.mark.mpi, pytest.mark.usefixtures("with_streams")]


def make(team):
    """(array, expected content) of every way to make an array."""
    return [
        (team.zeros(5000, "float32"), np.zeros(5000)),
        (team.full(30_001, 3, "int64"), np.full(30_001, 3)),
        (team.full(7, 2, "bfloat16"), np.full(7, 2)),
        (team.array(np.arange(999) + team.me), np.arange(999) + team.me),
        (team.array(np.zeros(0)), np.zeros(0)),
        (team.signals(3), np.zeros(3)),
    ]


def check_and_free(team, arrays):
    for array, wanted in arrays:
        assert same(array, wanted)
        team.free(array)


def test_while_a_stream_waits_for_a_peer(team):
    """PE 0 waits for a signal that the last PE sends after it has made its arrays, for which it needs PE 0."""
    signal, nothing, stream = team.signals(1), team.zeros(0, "float32"), team.stream()
    if team.me == 0:
        team.wait_signal(signal, 1, source=team.n_pes - 1, stream=stream)
    made = make(team)
    if team.me == team.n_pes - 1:
        team.put_signal(nothing, nothing, signal, 1, 0)
    team.synchronize()
    check_and_free(team, [*made, (nothing, np.zeros(0))])


def test_while_a_stream_is_captured(team):
    """The strictest mode of capture, which forbids allocations and waits in every thread."""
    import cupy

    x, y, stream = team.zeros(100, "float32"), team.full(100, 5, "float32"), team.stream()
    team.put(x[:1], y[:1], team.me)
    team.synchronize()
    stream.begin_capture(cupy.cuda.runtime.streamCaptureModeGlobal)
    team.put(x, y, team.me, stream=stream)
    made = make(team)
    graph = stream.end_capture()
    assert same(x, [5, *[0] * 99])
    graph.launch(stream)
    team.synchronize()
    check_and_free(team, [*made, (x, np.full(100, 5)), (y, np.full(100, 5))])
