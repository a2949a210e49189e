"""Streams, plans and teams at once: calls that all PEs issue in the same order complete with the right results."""

import numpy as np
import pytest
from on_device import device, to_numpy

import pennympi

pytestmark = pytest.mark.mpi

SIZES = {"64 KiB": (64 << 10, 300), "16 MiB": (16 << 20, 100)}  # bytes, rounds
SMALL = {"64 KiB": (64 << 10, 40)}  # sizes and rounds if nothing overlaps


@pytest.fixture
def sizes(team):
    return SIZES if team._backend.has_streams else SMALL


class Sum:
    """x += 1; out = sum over the PEs of x, so that the result of every round is known."""

    def __init__(self, team, nbytes, stream):
        self.team, self.stream, self.rounds = team, stream, 0
        self.x, self.out = team.full(nbytes // 8, team.me, "int64"), team.zeros(nbytes // 8, "int64")

    def step(self, call):
        """A round; the stream writes the arrays again before the call, so that a call that starts too early is
        detected."""
        self.rounds += 1
        with self.stream:
            self.x += 1
        call(self)

    def check(self):
        self.team.synchronize(self.stream)
        n = self.team.n_pes
        wanted = n * (n - 1) // 2 + n * self.rounds
        assert np.all(to_numpy(self.out) == wanted), (to_numpy(self.out)[:4], wanted)


def eager(total):
    total.team.allreduce(total.x, total.out, stream=total.stream)


def planned(total, sms=None):
    plan = total.team.plan_allreduce(total.x, total.out, sms=sms)
    return lambda total: plan(total.stream)


def both(team, nbytes, rounds, first, second):
    """Run rounds on two streams at once.  first, second: (team, function of a Sum that returns its call)"""
    sums = [Sum(team_of_sum, nbytes, team_of_sum.stream()) for team_of_sum, _ in (first, second)]
    calls = [prepare(total) for total, (_, prepare) in zip(sums, (first, second), strict=True)]
    for _ in range(rounds):
        for total, call in zip(sums, calls, strict=True):
            total.step(call)
    for total in sums:
        total.check()


PROGRAMS = {
    "eager, plan": (lambda total: eager, planned),
    "plan, plan of fewer blocks": (planned, lambda total: planned(total, 60)),
}


@pytest.mark.parametrize("program", PROGRAMS)
def test_two_streams(team, sizes, program):
    for nbytes, rounds in sizes.values():
        both(team, nbytes, rounds, *((team, prepare) for prepare in PROGRAMS[program]))


def test_two_teams(team, sizes):
    with pennympi.init(team.comm) as second:
        for nbytes, rounds in sizes.values():
            both(team, nbytes, rounds, (team, lambda total: eager), (second, lambda total: eager))


def test_puts_beside_a_call(team, sizes):
    """A round of put_signal and wait_signal on a stream, and calls on another stream."""
    after, before = (team.me + 1) % team.n_pes, (team.me - 1) % team.n_pes
    inbox, word = team.zeros(1 << 15, "int64"), team.signals(1)
    for nbytes, rounds in sizes.values():
        total, push = Sum(team, nbytes, team.stream()), team.stream()
        source = device(team, np.arange(1 << 15))
        first = int(to_numpy(word)[0])
        for k in range(1, rounds + 1):
            total.step(eager)
            team.put_signal(inbox, source, word[0:1], first + k, after, stream=push)
            team.wait_signal(word[0:1], first + k, before, stream=push)
        team.synchronize(push)
        assert np.array_equal(to_numpy(inbox), np.arange(1 << 15))
        total.check()
        team.barrier()
        team.synchronize()


def test_a_wait_in_front_of_a_call_holds_up_its_stream_alone(team):
    """PE 0 waits on a stream for a put that PE 1 makes after a call on another stream, the first call of its team."""
    if team.n_pes < 2 or not team._backend.has_streams:
        pytest.skip("needs two PEs, and calls that return at once")
    word, flag = team.signals(1), team.zeros(1, "float32")
    with pennympi.init(team.comm) as second:
        total, waiting = Sum(second, 4 << 20, second.stream()), team.stream()
        # The kernel is loaded before, since CUDA loads a kernel only after all work in flight has ended.
        team.allreduce(device(team, np.zeros(total.x.size, "i8")), device(team, np.zeros(total.x.size, "i8")))
        team.barrier()
        team.synchronize()
        if team.me == 0:
            team.wait_signal(word, 1, 1, stream=waiting)
        total.step(eager)
        if team.me == 1:
            team.put_signal(flag, flag, word, 1, 0, stream=total.stream)
        team.synchronize(waiting)
        total.check()
