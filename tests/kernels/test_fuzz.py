"""Random calls, one after the other without a wait between: collective, algorithm, dtype, op, size, place, stream.

The calls follow from a seed, the same on every PE; the streams and the moments at which a PE comes late are its own.
PENNYMPI_FUZZ_CALLS sets how many are made at this number of PEs, PENNYMPI_FUZZ_SEED which.
"""

import os
import random

import numpy as np
import pytest
from on_device import device, same
from random_calls import Calls

import pennympi

pytestmark = pytest.mark.mpi

# Taken out of the environment: they are settings of this test, and the library warns of those that it does not know.
CALLS, SEED = (os.environ.pop(f"PENNYMPI_FUZZ_{name}", "") for name in ("CALLS", "SEED"))
DEFAULT_CALLS = {1: 200, 2: 3000, 3: 2200, 4: 1700, 5: 1200, 7: 800, 8: 800, 16: 300}
BATCH = 100  # calls between two looks at the results


def test_fuzz(team):
    """On several streams, which differ between PEs."""
    seed = int(SEED) if SEED else team.n_pes
    shared, left = random.Random(seed), int(CALLS) if CALLS else DEFAULT_CALLS.get(team.n_pes, 500)
    streams = [None, team.stream(), team.stream("high")]
    while left > 0:
        try:
            calls = Calls(team, shared, min(BATCH, left))
            for _ in calls.list:
                calls.one(streams)
            calls.check()
        except Exception as error:
            error.add_note(f"PENNYMPI_FUZZ_SEED={seed}, {left} calls before the end")
            raise
        left -= BATCH


def test_among_puts_exchanges_and_barriers(team):
    rounds, n, me = 150 if team.n_pes <= 8 else 50, team.n_pes, team.me
    shared = random.Random(3)
    calls = Calls(team, shared, rounds)
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


def test_two_teams_over_the_same_pes(team):
    with pennympi.init(team.comm) as other:
        both = [Calls(one, random.Random(4), 60) for one in (team, other)]
        for _ in both[0].list:
            for calls in both:
                calls.one()
        for calls in both:
            calls.check()
