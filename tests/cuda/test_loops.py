"""Loops in CUDA graphs: CuPy's work and copies in the body, calls beside them, captures, and what can't be captured."""

import numpy as np
import pytest
from on_device import to_numpy
from seed import SEED

from pennympi import Unsupported
from pennympi.kernels.block import Elements, Words, lanes, load, read_epoch, real, store

pytestmark = [pytest.mark.mpi, pytest.mark.hosts(most_pes=8), pytest.mark.usefixtures("with_streams")]
COUNT = 100


def of(team):
    """CuPy, if it is installed."""
    import cupy

    return cupy


def halving(team, body=lambda stream: None, start=1024.0):
    """(value, which the body halves, a body that also sums it over the PEs, the sum)."""
    xp, value, total = of(team), team.full(1, start, "float64"), team.zeros(1, "float64")
    add = team.plan_allreduce(value, total)

    def run(stream):
        xp.multiply(value, 0.5, out=value)
        body(stream)
        add(stream)

    return value, run, total


def runs_of(team, loop, stream=None):
    """How often the body ran in one call."""
    loop(stream)
    team.synchronize(stream)
    assert to_numpy(loop.done)[0] == 1
    return int(to_numpy(loop.runs)[0])


def take(ctx, value: Elements, starts: Elements, k: int):
    for _ in lanes(0, 1):
        store(value, 0, load(starts, k))


def lower(ctx, value: Elements):
    for _ in lanes(0, 1):
        store(value, 0, load(value, 0) - real(1))


def note(ctx, counts: Words, k: int, runs: Words):
    for _ in lanes(0, 1):
        store(counts, k, read_epoch(runs, 0))


@pytest.mark.parametrize("bodies", [1, 3])
def test_many_lengths(team, request, bodies):
    """Many loops of random length in a row: the host waits only for the last one."""
    loops, most = 100_000 if request.config.getoption("--soak", 0) else 2_000, 15
    random, stream = np.random.default_rng([*team.comm.bcast(SEED).encode(), bodies]), team.stream()
    lengths = random.integers(-1, 20, loops)
    starts, counts, value = team.array(lengths.astype("float64")), team.zeros(loops, "int64"), team.zeros(1, "float64")
    taking, lowering, noting = team.kernel(take, "float64"), team.kernel(lower, "float64"), team.kernel(note, "int64")
    loop = team.plan_loop([lambda inner: lowering(1, value, stream=inner, threads=32)] * bodies, value, 0.0, most)
    for k in range(loops):
        taking(1, value, starts, k, stream=stream, threads=32)
        loop(stream)
        noting(1, counts, k, loop.runs, stream=stream, threads=32)
    team.synchronize(stream)
    assert (to_numpy(counts) == np.clip(lengths, 1, most)).all()


def test_memory_of_a_body_is_the_loops(team):
    """A temporary array of the body shares no memory with another array."""
    xp, x = of(team), team.zeros(1000, "int64")

    def body(stream):
        temporary = x + 1
        x[...] = temporary * 1

    _, run, total = halving(team, body)
    loop = team.plan_loop(run, total, team.n_pes)
    others = [xp.full(1000, 7, "int64") for _ in range(20)]
    assert runs_of(team, loop) == 10
    assert (to_numpy(x) == 10).all()
    assert all((to_numpy(one) == 7).all() for one in others)


def test_a_body_that_cant_be_captured(team):
    import cupy

    event = cupy.cuda.Event()
    _, run, total = halving(team)
    bodies = [
        lambda stream: cupy.cuda.runtime.eventRecordWithFlags(event.ptr, stream.ptr, 1),
        lambda stream: stream.synchronize(),
        lambda stream: team.synchronize(stream),
    ]
    if not hasattr(cupy.cuda.runtime, "eventRecordWithFlags"):
        del bodies[0]
    for body in bodies:
        with pytest.raises(Unsupported, match="captured"):
            team.plan_loop(body, total, 1.0)
    with pytest.raises(ZeroDivisionError):
        team.plan_loop(lambda stream: 1 / 0, total, 1.0)
    assert runs_of(team, team.plan_loop(run, total, team.n_pes)) == 10


def test_a_graph_of_loops(team):
    """A loop is captured between calls into a graph that runs several times; a loop is also the body of another one."""
    stream, n = team.stream(), team.n_pes
    value, run, total = halving(team)
    loop = team.plan_loop(run, total, n)
    x, out = team.full(COUNT, 1, "int64"), team.zeros(COUNT, "int64")
    counts = team.zeros(1, "float64")

    def turn(stream):
        with stream:
            value[...] = 1024.0
            team.allreduce(x, out, stream=stream)
            loop(stream)
            counts[...] += loop.runs

    team.synchronize()
    stream.begin_capture(2)
    with pytest.raises(Unsupported, match="the host has no turn in a graph"):
        loop(stream, every=1, call=print)
    turn(stream)
    graph = stream.end_capture()
    for _ in range(5):
        graph.launch(stream)
    team.synchronize(stream)
    assert to_numpy(counts)[0] == 50
    low = team.full(1, 3.0, "float64")

    def outer(stream):
        turn(stream)
        low[...] -= 1

    assert runs_of(team, team.plan_loop(outer, low, 0.0)) == 3
    assert to_numpy(counts)[0] == 80


def test_an_older_driver(team, monkeypatch, request):
    from pennympi.cuda.streams import loops

    monkeypatch.setattr(loops, "WHILE_DRIVER", 10**6)
    test_many_lengths(team, request, 3)
