"""Random calls without a wait between them: collective, algorithm, dtype, op, size, place, stream.

A seed that is the same on every PE draws the calls; each PE draws its streams and the moments at which it comes late.
"""

import random

import numpy as np
import pytest
from on_device import device, same
from random_calls import Calls

from pennympi.kernels.exchange import TABLE as FORMS

pytestmark = pytest.mark.mpi

CALLS = {1: 200, 2: 3000, 3: 2200, 4: 1700, 5: 1200, 7: 800, 8: 800, 16: 300}
MOST = 20_000  # elements of an exchange, more than one piece
BATCH = 100  # calls between two looks at the results


def test_fuzz(team):
    """The calls go to several streams, which differ between PEs."""
    shared, streams = random.Random(team.n_pes), [None, team.stream(), team.stream("high")]
    for _ in range(CALLS.get(team.n_pes, 500) // BATCH):
        calls = Calls(team, shared, BATCH)
        for _ in calls.list:
            calls.run_next(streams)
        calls.check()


def test_among_puts_exchanges_and_barriers(team):
    rounds, n, me = 150 if team.n_pes <= 8 else 50, team.n_pes, team.me
    shared = random.Random(3)
    calls = Calls(team, shared, rounds)
    mail, halo = team.zeros((rounds, 5), "int64"), team.zeros((rounds, MOST), "int32")
    source = device(team, np.arange(rounds)[:, None] * 100 + me + np.zeros((1, 5), np.int64))
    send = device(team, (np.arange(rounds)[:, None] * 100 + me + np.zeros((1, MOST))).astype(np.int32))
    wanted = []
    team.barrier()
    for k in range(rounds):
        step, form, size = shared.randrange(n), shared.choice([*FORMS]), shared.choice((1, 50, 700, MOST))
        partner = (step - me) % n  # a swap: the partner's partner is this PE
        team.put(mail[k], source[k], (me + step) % n)
        team.exchange(halo[k, :size], send[k, :size], partner, form)
        calls.run_next()
        if shared.randrange(3) == 0:
            team.barrier()
        wanted.append(((me - step) % n, partner, size))
    team.barrier()
    calls.check()
    for k, (writer, partner, size) in enumerate(wanted):
        assert same(mail[k], np.full(5, 100 * k + writer))
        assert same(halo[k, :size], np.full(size, 100 * k + partner))
