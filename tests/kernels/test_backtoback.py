"""Calls without a host synchronisation between them, beside other traffic, on PEs that run at different speeds.

test_fuzz.py makes many more, alone.
"""

import random

import numpy as np
import pytest
from on_device import device, same
from random_calls import Calls

import pennympi

pytestmark = pytest.mark.mpi


def several(team, rounds):
    """That number of rounds, or a third of it where many PEs share a core."""
    return rounds if team.n_pes <= 8 else rounds // 3


def test_among_puts_exchanges_and_barriers(team):
    rounds, n, me = several(team, 150), team.n_pes, team.me
    calls, shared = Calls(team, rounds, 2), random.Random(3)
    mail, halo = team.zeros((rounds, 5), "int64"), team.zeros((rounds, 700), "int32")
    source = device(team, np.arange(rounds)[:, None] * 100 + me + np.zeros((1, 5), np.int64))
    send = device(team, (np.arange(rounds)[:, None] * 100 + me + np.zeros((1, 700))).astype(np.int32))
    wanted = []
    team.barrier()
    for k in range(rounds):
        step, form = shared.randrange(n), shared.choice(["put_signal", "put_fence_signal", "put_barrier"])
        partner = (step - me) % n  # a swap: the partner's partner is this PE
        team.put(mail[k], source[k], (me + step) % n)
        team.exchange(halo[k], send[k], partner, form)
        calls.one()
        if shared.randrange(3) == 0:
            team.barrier()
        wanted.append(((me - step) % n, partner))
    team.barrier()
    calls.check()
    for k, (writer, partner) in enumerate(wanted):
        assert same(mail[k], np.full(5, 100 * k + writer))
        assert same(halo[k], np.full(700, 100 * k + partner))
    team.free(mail)
    team.free(halo)


def test_two_teams_over_the_same_pes(team):
    with pennympi.init(team.comm) as other:
        rounds = several(team, 100)
        first, second = Calls(team, rounds, 4), Calls(other, rounds, 5)
        for _ in range(rounds):
            first.one()
            second.one()
        first.check()
        second.check()


def test_two_streams(team):
    """They share one workspace: the library orders them, whatever the program does."""
    calls = Calls(team, several(team, 300), 6)
    streams = [team.stream(), team.stream("high"), None]
    order = random.Random(7)
    for _ in calls.list:
        calls.one(order.choice(streams))
    calls.check()


def test_the_two_streams_may_differ_between_pes(team):
    calls, mine = Calls(team, several(team, 200), 8), random.Random(team.me)
    streams = [team.stream(), team.stream(), None]
    for _ in calls.list:
        calls.one(mine.choice(streams))
    calls.check()
