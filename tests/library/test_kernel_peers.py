"""team.kernel: a user's own text that talks to other PEs, and integers of load and store."""

import numpy as np
import pytest
from on_device import device, same, to_numpy

from pennympi.arrays.dtypes import TABLE as DTYPES
from pennympi.kernels.block import lanes, load, put_signal, real, signal, store, wait

pytestmark = [pytest.mark.mpi, pytest.mark.hosts(most_pes=8)]


def around(ctx, inbox, outbox, nbytes, word, value, successor, predecessor):
    """A message to the next PE and an answer to the last one, in one block."""
    put_signal(ctx, inbox, outbox, nbytes, word, value, successor)
    wait(ctx, word, value, predecessor)
    signal(ctx, word + 8, value, predecessor)
    wait(ctx, word + 8, value, successor)


def test_messages_round_the_ring(team):
    right, left = (team.me + 1) % team.n_pes, (team.me - 1) % team.n_pes
    inbox, signals = team.zeros(500, "int64"), team.signals(2)
    outbox = team.full(500, team.me, "int64")
    kernel = team.kernel(around, "float32")
    team.barrier()
    for value in range(1, 20):
        kernel(1, inbox, outbox, 4000, signals, value, right, left)
    assert same(inbox, np.full(500, left)) and to_numpy(signals).tolist() == [19, 19]


def plus(ctx, x, n):
    """x (n,) += 1."""
    for i in lanes(0, n):
        store(x, i, real(load(x, i) + 1))


@pytest.mark.parametrize("name", ["float64", "int8", "uint64"])
def test_elements_of_any_dtype(team, name):
    edge = np.array([np.iinfo(name).max if DTYPES[name].kind in "iu" else 1e30, 0], name)
    x = device(team, edge)
    team.kernel(plus, name)(1, x, 2)
    with np.errstate(over="ignore"):
        assert same(x, edge + np.array(1, name))  # integers wrap
