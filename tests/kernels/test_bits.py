"""Bits: the same on every PE and in every run, and what becomes of NaN, infinity and -0."""

import hashlib

import numpy as np
import pytest
from on_device import same, skip_if_refused, to_numpy, write
from reductions import N_PES, OPS, PAIRS, sample

from pennympi.arrays.dtypes import TABLE as DTYPES
from pennympi.kernels.allreduce import TABLE

pytestmark = pytest.mark.mpi
FLOATS = [(algorithm, name) for algorithm, name in PAIRS if DTYPES[name].kind in "fb"]
# Three PEs run all algorithms; other numbers of PEs run some, each algorithm with another dtype.
SOME = FLOATS if N_PES == 3 else sample(FLOATS, 5)


def ops_of(team, algorithm, name, ops=OPS):
    return [op for op in ops if not TABLE[algorithm].why_not(team.pe_topology, name, op)]


@pytest.mark.parametrize(("algorithm", "name"), FLOATS if N_PES <= 4 else sample(FLOATS, 2))
def test_random_floats(team, algorithm, name):
    """Sums whose value depends on the order of the additions have one digest on all PEs, twice."""
    skip_if_refused(team, algorithm, name)
    rng = np.random.default_rng([team.me, 5])
    digests = []
    for op in ops_of(team, algorithm, name, OPS if N_PES == 3 else ("sum",)):
        for count in (3, 40_000) if N_PES <= 4 else (15_000,):
            values = (rng.standard_normal(count) * 10.0 ** rng.integers(-3, 3, count)).astype(DTYPES[name].numpy)
            x, out = team.array(values), team.empty(count, name)
            for _ in range(2):
                team.allreduce(x, out, op, algorithm)
                digests.append(hashlib.sha256(to_numpy(out).tobytes()).hexdigest())
            write(out, values)
            team.allreduce(out, None, op, algorithm)  # in place
            digests.append(hashlib.sha256(to_numpy(out).tobytes()).hexdigest())
            assert len(set(digests[-3:])) == 1, (op, count)
    assert len({tuple(one) for one in team.comm.allgather(digests)}) == 1


@pytest.mark.parametrize(("algorithm", "name"), SOME)
def test_nan_and_infinity(team, algorithm, name):
    """A NaN of any PE is the result of every op; infinities follow IEEE."""
    skip_if_refused(team, algorithm, name)
    dtype, n = DTYPES[name].numpy, team.n_pes
    nan, inf = float("nan"), float("inf")
    values = np.ones(4 + n)
    values[0] = inf if team.me == n - 1 else 1
    values[1] = -inf if team.me == 0 else 1
    values[2] = inf if team.me == 0 else -inf if team.me == n - 1 else 1
    values[3] = -0.0
    values[4 + team.me] = nan  # column 4 + pe: a NaN of that PE only
    one_pe = n == 1
    wanted = {
        "sum": [inf, -inf, inf if one_pe else nan, -0.0],
        "avg": [inf, -inf, inf if one_pe else nan, -0.0],
        "prod": [inf, -inf, inf if one_pe else -inf, 0.0 if n % 2 == 0 else -0.0],
        "min": [inf if one_pe else 1, -inf, inf if one_pe else -inf, -0.0],
        "max": [inf, -inf if one_pe else 1, inf, -0.0],
    }
    for op in ops_of(team, algorithm, name):
        x = team.array(values.astype(dtype))
        result = to_numpy(team.allreduce(x, op=op, algorithm=algorithm)).astype(np.float64)
        np.testing.assert_array_equal(result[:4], wanted[op], op)
        assert np.signbit(result[3]) == np.signbit(wanted[op][3]), op
        assert np.isnan(result[4:]).all(), op


@pytest.mark.parametrize("name", ["float16", "bfloat16"])
def test_rounding_of_16_bits(team, name):
    """Values are rounded to nearest, ties to even, beyond the largest to infinity; a NaN with any bits stays a NaN."""
    dtype = DTYPES[name].numpy
    one_pe = np.arange(1 << 16, dtype=np.uint16).view(dtype)  # every value of the dtype, once
    for op in ("sum", "avg"):
        x = team.array(one_pe)
        team.allreduce(x, op=op)
        with np.errstate(all="ignore"):
            total = one_pe.astype(np.float32)
            for _ in range(team.n_pes - 1):
                total = total + one_pe.astype(np.float32)
            expected = (total / np.float32(team.n_pes) if op == "avg" else total).astype(dtype)
        number = ~np.isnan(one_pe.astype(np.float32))
        result = to_numpy(x)
        assert result[number].tobytes() == expected[number].tobytes(), op
        assert np.isnan(result[~number].astype(np.float32)).all(), op


def test_float32_subnormals_are_kept(team):
    x = team.full(33, np.float32(1e-45), "float32")
    assert same(team.allreduce(x), np.full(33, team.n_pes * 1.401298464324817e-45, np.float32))
