"""team.kernel: a user's own text that talks to other PEs, and integers of load and store."""

import numpy as np
import pytest
from on_device import device, same, to_numpy

from pennympi.arrays.dtypes import TABLE as DTYPES
from pennympi.kernels.block import block, blocks, lanes, load, put_signal, real, signal, store, wait

pytestmark = [pytest.mark.mpi, pytest.mark.hosts(most_pes=8)]
OFFSET = 3


def around(ctx, inbox, outbox, nbytes, word, value, successor, predecessor):
    """A message to the next PE and an answer to the last one, in one block."""
    put_signal(ctx, inbox, outbox, nbytes, word, value, successor)
    wait(ctx, word, value, predecessor)
    signal(ctx, word + 8, value, predecessor)
    wait(ctx, word + 8, value, successor)


def triangles(ctx, out, n):
    """out (n,) = OFFSET + 0, 1, 3, 6, ..., by all blocks, through a function of this module."""
    for i in lanes(block() * n // blocks(), (block() + 1) * n // blocks()):
        store(out, i, real(triangle(i) + OFFSET))


def triangle(i):
    return i * (i + 1) // 2


def plus(ctx, x, n):
    """x (n,) += 1."""
    for i in lanes(0, n):
        store(x, i, real(load(x, i) + 1))


def test_messages_round_the_ring(team):
    right, left = (team.me + 1) % team.n_pes, (team.me - 1) % team.n_pes
    inbox, signals = team.zeros(500, "int64"), team.signals(2)
    outbox = team.full(500, team.me, "int64")
    kernel = team.kernel(around, "float32")
    team.barrier()
    for value in range(1, 20):
        kernel(1, inbox, outbox, 4000, signals, value, right, left)
    assert same(inbox, np.full(500, left)) and to_numpy(signals).tolist() == [19, 19]
    team.barrier()
    for x in (inbox, outbox, signals):
        team.free(x)


@pytest.mark.parametrize("name", ["float64", "int8", "int64", "uint16", "uint64"])
def test_every_dtype(team, name):
    out = device(team, np.zeros(15, name))
    team.kernel(triangles, name)(2, out, 15)
    assert same(out, np.array([triangle(i) + OFFSET for i in range(15)], name))
    edge = np.array([np.iinfo(name).max if DTYPES[name].kind in "iu" else 1e30, 0], name)
    x = device(team, edge)
    team.kernel(plus, name)(1, x, 2)
    with np.errstate(over="ignore"):
        assert same(x, edge + np.array(1, name))  # integers wrap
