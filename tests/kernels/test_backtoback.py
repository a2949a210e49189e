"""Calls without a host synchronisation between them, beside other traffic, on PEs that run at different speeds.

test_fuzz.py makes many more, alone.
"""

import random
import time

import numpy as np
import pytest
from on_device import device, same, to_numpy

import pennympi
from pennympi.arrays.dtypes import TABLE as DTYPES
from pennympi.kernels.allreduce import TABLE

pytestmark = pytest.mark.mpi
NAMES = ("int32", "float64", "float16", "uint8")
REDUCE = {"sum": np.add, "min": np.minimum, "max": np.maximum}
SLOW = 10  # one call in so many comes late on a PE


class Calls:
    """AllReduces of random size, dtype, op and algorithm, each on memory of its own; checked at the end."""

    def __init__(self, team, calls, seed):
        shared = random.Random(seed)
        self.team, self.next = team, 0
        self.late = random.Random(1000 * seed + team.me)
        self.ends, self.list = dict.fromkeys(NAMES, 0), []
        for _ in range(calls):
            name, count = shared.choice(NAMES), int(10 ** shared.uniform(0, 3.7)) - 1
            start = self.ends[name] + shared.randrange(3)  # any alignment
            self.ends[name] = start + count
            op, algorithm = shared.choice(list(REDUCE)), shared.choice([*TABLE, "auto"])
            if algorithm in TABLE and TABLE[algorithm].refuse(team.place, name, op):
                algorithm = "auto"
            self.list.append((name, start, start + count, op, algorithm))
        rng = np.random.default_rng(seed)
        self.given = {
            name: rng.integers(0, 8, (team.n_pes, self.ends[name])).astype(DTYPES[name].numpy) for name in NAMES
        }
        self.x = {name: device(team, self.given[name][team.me]) for name in NAMES}
        self.out = {name: device(team, np.zeros_like(self.given[name][0])) for name in NAMES}
        team.synchronize()

    def one(self, stream=None):
        """The next call."""
        name, start, stop, op, algorithm = self.list[self.next]
        self.next += 1
        if self.late.randrange(SLOW) == 0:
            time.sleep(self.late.random() / 1000)
        self.team.allreduce(self.x[name][start:stop], self.out[name][start:stop], op, algorithm, stream=stream)

    def check(self):
        """Compare every result."""
        self.team.synchronize()
        out = {name: to_numpy(self.out[name]) for name in NAMES}
        for number, (name, start, stop, op, algorithm) in enumerate(self.list[: self.next]):
            wide = self.given[name][:, start:stop].astype(np.float64)
            expected = REDUCE[op].reduce(wide, axis=0).astype(DTYPES[name].numpy)
            assert out[name][start:stop].tobytes() == expected.tobytes(), (number, name, stop - start, op, algorithm)


def several(team, rounds):
    """So many rounds, or a third where many PEs share a core."""
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
