"""AllReduce in the canonical order: the bits of an element depend only on the PEs' values of it."""

import numpy as np
import pytest
from on_device import device, same, to_numpy, write
from reductions import N_PES, in_order, sample

from pennympi import Unsupported
from pennympi.arrays.dtypes import TABLE as DTYPES
from pennympi.kernels.allreduce import PLANNED, TABLE

pytestmark = [pytest.mark.mpi, pytest.mark.hosts(most_pes=8)]

CANONICAL = [name for name, algorithm in TABLE.items() if algorithm.canonical]
FLOATS = [name for name, dtype in DTYPES.items() if dtype.kind in "fb"]
VALUES = 5003  # length of the pool from which all arrays take values: a prime, so that no piece of a message is as long
COUNTS = (1, 2, 7, 64, 255, 1024, 4099, 30_011)


def pool(pe, name):
    """(VALUES,) values of a PE, of all sizes, so that the order of the additions decides the bits."""
    rng = np.random.default_rng([pe, 11])
    return (rng.standard_normal(VALUES) * 10.0 ** rng.integers(-3, 3, VALUES)).astype(DTYPES[name].numpy)


def summed(name, op, residual=None):
    """(VALUES,) results of the additions in the order of the PEs."""
    return in_order([pool(pe, name) for pe in range(N_PES)], name, op, residual)


def windows(count):
    """(indices (count,) into the pool, elements before the array in its memory), twice."""
    for turn, offset in ((1, 0), (count, 1)):
        yield (np.arange(count) + 37 * turn) % VALUES, offset


@pytest.mark.parametrize("algorithm", ["auto", *CANONICAL])
@pytest.mark.parametrize("name", FLOATS if N_PES <= 3 else sample(FLOATS, 2))
def test_bits_of_an_element(team, algorithm, name):
    dtype, mine = DTYPES[name].numpy, pool(team.me, name)
    memory = team.zeros(max(COUNTS) + 1, name)
    for count in COUNTS:
        for at, offset in windows(count):
            x = memory[offset : offset + count]
            for op in ("sum", "avg"):
                write(x, mine[at])
                team.allreduce(x, None, op, algorithm, order="canonical")
                assert same(x, summed(name, op)[at]), (op, count, offset)
    big, at = device(team, np.zeros(300_000, dtype)), np.arange(300_000) % VALUES
    write(big, mine[at])
    assert same(team.allreduce(big, algorithm=algorithm, order="canonical"), summed(name, "sum")[at])


@pytest.mark.parametrize("name", FLOATS)
def test_with_a_residual(team, name):
    """Every size follows one rule, however the algorithm would round without the order."""
    mine, rest = pool(team.me, name), pool(N_PES, name)
    for count in (3, 4099, 200_000):
        at = np.arange(count) % VALUES
        x, more = device(team, mine[at]), device(team, rest[at])
        assert same(team.allreduce(x, residual=more, order="canonical"), summed(name, "sum", rest)[at]), count


@pytest.mark.parametrize("algorithm", ["auto", *(name for name, algorithm in PLANNED.items() if algorithm.canonical)])
def test_plans(team, algorithm):
    """Some algorithms write directly to a symmetric out."""
    for count in (7, 4099, 300_000):
        at = np.arange(count) % VALUES
        x, out = team.array(pool(team.me, "float32")[at]), team.empty(count, "float32")
        try:
            plan = team.plan_allreduce(x, out, algorithm=algorithm, order="canonical")
        except Unsupported as error:
            assert algorithm != "auto" and "can't run here" in str(error)
        else:
            plan()
            assert same(out, summed("float32", "sum")[at]), count


def test_the_others_are_refused(team):
    """The error names the algorithm, with one sentence that says what to do; at more than two PEs its bits differ."""
    x = device(team, pool(team.me, "float32"))
    others = [name for name, algorithm in TABLE.items() if not algorithm.canonical]
    for name in others:
        with pytest.raises(Unsupported, match="needs sums in the order of the PEs; use algorithm='auto'"):
            team.allreduce(x, algorithm=name, order="canonical")
    with pytest.raises(ValueError, match="order 'fixed' is unknown: use 'any' or 'canonical'"):
        team.allreduce(x, order="fixed")
    assert same(x, pool(team.me, "float32"))
    if N_PES > 2:
        assert to_numpy(team.allreduce(x, algorithm="ring")).tobytes() != summed("float32", "sum").tobytes()
