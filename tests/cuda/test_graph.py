"""CUDA graphs: allreduce and plans captured once and replayed often, with PEs that come late, between eager calls."""

import time

import numpy as np
import pytest
from collective_cases import ALGORITHMS, CASES, Call, runs_here
from on_device import to_numpy

import pennympi

pytestmark = [pytest.mark.mpi, pytest.mark.usefixtures("with_streams")]

REPLAYS, COUNT = 1000, 1500
TURN = 40  # after so many replays another PE comes late


class Counting:
    """x += 1; out = sum over the PEs of x; total += out.  ``total`` shows whether every round was right."""

    def __init__(self, team, stream, reduce=None, algorithm="auto"):
        self.team, self.stream = team, stream
        self.x, self.out, self.total = team.full(COUNT, team.me, "int64"), *(team.zeros(COUNT, "int64") for _ in "ab")
        self.reduce = reduce(self) if reduce else self.eager(algorithm)
        self.rounds = 0

    def eager(self, algorithm):
        return lambda stream: self.team.allreduce(self.x, self.out, algorithm=algorithm, stream=stream)

    def once(self):
        import cupy

        with self.stream:
            cupy.add(self.x, 1, out=self.x)
            self.reduce(self.stream)
            cupy.add(self.total, self.out, out=self.total)

    def captured(self):
        """A graph of one round; the round before the capture compiles and allocates."""
        self.once()
        self.rounds += 1
        self.team.synchronize()
        self.stream.begin_capture()
        self.once()
        return self.stream.end_capture()

    def check(self):
        self.team.synchronize(self.stream)
        n, rounds = self.team.n_pes, self.rounds
        total = n * rounds * (rounds + 1) // 2 + rounds * n * (n - 1) // 2
        assert np.array_equal(to_numpy(self.total), np.full(COUNT, total)), (to_numpy(self.total)[:4], total)


def replay(counting, graph, times):
    team = counting.team
    for k in range(times):
        if k % TURN == TURN - 1 and k // TURN % team.n_pes == team.me:
            counting.stream.synchronize()  # this PE's work is done; it is late for the rounds that the others have begun
            time.sleep(0.002)
        graph.launch(counting.stream)
    counting.rounds += times


def test_plan(team):
    counting = Counting(team, team.stream(), lambda c: team.plan_allreduce(c.x, c.out))
    graph = counting.captured()
    replay(counting, graph, REPLAYS // 2)
    counting.once()  # the same plan, not captured, on the same stream
    counting.rounds += 1
    replay(counting, graph, REPLAYS // 2)
    counting.check()


def test_several_graphs_on_one_stream(team):
    stream = team.stream()
    all_of_them = [Counting(team, stream) for _ in range(4)]
    graphs = [counting.captured() for counting in all_of_them]
    for _ in range(100):
        for counting, graph in zip(all_of_them, graphs, strict=True):
            replay(counting, graph, 1)
    for counting in all_of_them:
        counting.check()


def test_without_a_call_before(team):
    """The first call of a team may be captured: its workspace is allocated during the capture."""
    with pennympi.init(team.comm) as fresh:
        counting = Counting(fresh, fresh.stream())
        fresh.synchronize()
        counting.stream.begin_capture()
        counting.once()
        replay(counting, counting.stream.end_capture(), 10)
        counting.check()


@pytest.mark.parametrize("waits", [True, False])
def test_a_call_between_a_capture_and_its_first_launch(team, waits):
    """A call, a capture on the same stream, a call on another stream.  waits: for the first call, as most programs do"""
    counting, beside = Counting(team, team.stream()), Counting(team, team.stream())
    counting.once()
    if waits:
        team.synchronize(counting.stream)
    counting.stream.begin_capture()
    counting.once()
    graph = counting.stream.end_capture()
    counting.rounds = 1
    for _ in range(50):
        beside.once()
        beside.rounds += 1
        replay(counting, graph, 1)
    counting.check()
    beside.check()


@pytest.mark.parametrize(("collective", "algorithm"), ALGORITHMS)
def test_collectives(team, collective, algorithm):
    """x += 1, a call, total += out: captured once, replayed between eager rounds."""
    import cupy

    if not runs_here(team, collective, algorithm):
        pytest.skip("the algorithm says that it can't run here")
    case, n, rounds = CASES[collective], team.n_pes, 0
    call, stream = Call("int64", "sum", n, team.me, n - 1, COUNT), team.stream()
    x, out = case.fresh(team.array, call)
    total = cupy.zeros_like(out)
    team.synchronize()

    def once():
        with stream:
            cupy.add(x, 1, out=x)
            case.run(team, call, x, out, algorithm=algorithm, stream=stream)
            cupy.add(total, out, out=total)

    once()
    team.synchronize()
    stream.begin_capture()
    once()
    graph = stream.end_capture()
    for rounds in range(2, 302):
        if rounds % TURN == 0 and rounds // TURN % n == team.me:
            stream.synchronize()
            time.sleep(0.002)
        once() if rounds % 10 == 0 else graph.launch(stream)
    team.synchronize(stream)
    step = (n if case.reduces else 1) * rounds * (rounds + 1) // 2
    wanted = case.out(call)
    assert np.array_equal(to_numpy(total), 0 * to_numpy(total) if wanted is None else rounds * wanted + step)


def test_a_graph_is_replayed_with_other_counts(team):
    """A replay reads counts on the device anew; counts on the host stay as captured, whatever calls come between."""
    import cupy

    n, me, most, stream = team.n_pes, team.me, 1000, team.stream()
    x, out, fixed = (cupy.zeros(n * most, "int64") for _ in range(3))
    sent, taken = cupy.zeros(n, "int64"), cupy.zeros(n, "int64")
    ones = list(range(1, n + 1))

    def calls():
        team.all_to_allv(x, out, sent, taken, stream=stream)
        team.all_gatherv(x[: ones[me]], fixed, ones, stream=stream)

    calls()
    team.synchronize()
    stream.begin_capture()
    calls()
    graph = stream.end_capture()
    for step in range(50):
        counts = [[(step * (i + 1) * (j + 2)) % most for j in range(n)] for i in range(n)]
        x.set(np.arange(n * most) + 7 * me + step)
        sent.set(np.array(counts[me])), taken.set(np.array([one[me] for one in counts]))
        cupy.cuda.get_current_stream().synchronize()
        graph.launch(stream)
        team.synchronize(stream)
        starts = [sum(counts[pe][:me]) for pe in range(n)]
        wanted = [np.arange(starts[pe], starts[pe] + counts[pe][me]) + 7 * pe + step for pe in range(n)]
        assert np.array_equal(to_numpy(out)[: sum(map(len, wanted))], np.concatenate(wanted)), step
        wanted = np.concatenate([np.arange(one) + 7 * pe + step for pe, one in enumerate(ones)])
        assert np.array_equal(to_numpy(fixed)[: len(wanted)], wanted), step
        team.barrier()


@pytest.mark.parametrize("planned", [False, True])
def test_beside_eager_calls(team, planned):
    """Replays on one stream, eager calls of the same algorithm on another."""
    plan = (lambda c: team.plan_allreduce(c.x, c.out)) if planned else None
    inside, beside = Counting(team, team.stream(), plan), Counting(team, team.stream("high"))
    graph = inside.captured()
    for _ in range(REPLAYS):
        replay(inside, graph, 1)
        beside.once()
        beside.rounds += 1
    inside.check()
    beside.check()


def test_branches_of_one_graph(team):
    """Two streams in one capture: calls, a barrier and an exchange on both."""
    left, right = Counting(team, team.stream()), Counting(team, team.stream())
    partner = team.n_pes - 1 - team.me
    got, sent = team.zeros(5000, "int64"), team.full(5000, team.me, "int64")
    team.synchronize()
    left.stream.begin_capture()
    right.stream.wait_event(left.stream.record())
    for one in (left, right):
        one.once()
        team.barrier(one.stream)
        team.exchange(got, sent, partner, stream=one.stream)
    left.stream.wait_event(right.stream.record())
    graph = left.stream.end_capture()
    for _ in range(50):
        graph.launch(left.stream)
        team.barrier(right.stream)
    team.synchronize()
    assert np.all(to_numpy(got) == partner)
    for one in (left, right):
        one.rounds = 50
        one.check()
