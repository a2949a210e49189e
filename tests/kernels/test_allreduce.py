"""allreduce: every algorithm, dtype, op, size, alignment and place, bit for bit."""

import numpy as np
import pytest
from on_device import device, first_taken, same, skip_if_refused, to_numpy, write
from reductions import N_PES, OPS, PAIRS, expected, own, some

from pennympi.arrays.dtypes import TABLE as DTYPES
from pennympi.kernels.allreduce import TABLE

pytestmark = [pytest.mark.mpi, pytest.mark.hosts(most_pes=8)]

SIZES = (0, 1, 3, 7, 16, 17, 255, 1023, 4097, 65537)
MOST = max(SIZES)
GUARD = 16  # elements around x and out that must stay as they are
# (x, its offset, out, its offset): "s", "t" symmetric, "p", "q" plain; x itself is in place
ALIGNED = (("s", 0, "s", 0), ("p", 0, "p", 0), ("p", 0, "q", 0))
NEITHER = (("s", 1, "s", 1), ("p", 1, "p", 1), ("p", 1, "t", 1))
ONLY_X, ONLY_OUT = ("s", 0, "t", 1), ("s", 1, "q", 0)
PLACES = (*ALIGNED, *NEITHER, ONLY_X, ONLY_OUT)
# Of these two PEs show everything; of the others, which fold or have a tree, three do.
AT_TWO = ("ring", "simple_ring", "one_shot", "one_shot_packets", "two_shot", "two_shot_packets")


def places(n_pes, algorithm, turn):
    """Where x and out are: all alignments at two or three PEs, one after the other at more."""
    if n_pes == (2 if algorithm in AT_TWO else 3):
        return ALIGNED[turn % 3], NEITHER[turn % 3], ONLY_X, ONLY_OUT
    return (PLACES[turn % 8],)


CANARY = np.full((GUARD + 1 + MOST + GUARD) * 8, 0x5A, np.uint8)


@pytest.fixture(scope="module")
def memory(team):
    """Bytes for x and out, symmetric and plain, all of them canaries."""
    symmetric = {key: team.array(CANARY) for key in "st"}
    yield symmetric | {key: device(team, CANARY) for key in "pq"}
    for x in symmetric.values():
        team.free(x)


@pytest.mark.parametrize(
    ("algorithm", "name"), some(PAIRS, 1 if N_PES <= 3 else 2 if N_PES == 4 else 4 if N_PES <= 8 else 8)
)
def test_exact(team, memory, algorithm, name):
    able = [op for op in OPS if not TABLE[algorithm].refuse(team.place, name, op)]
    if not able:
        skip_if_refused(team, algorithm, name)
    dtype = DTYPES[name].numpy
    canary = CANARY.view(dtype)
    arrays = {key: x.view(dtype) for key, x in memory.items()}
    n = team.n_pes
    turn = n + list(DTYPES).index(name) + 3 * list(TABLE).index(algorithm)
    cases = [(op, count) for k, op in enumerate(able) for count in (SIZES if n <= 8 else SIZES[(turn + k) % 2 :: 2])]
    for op, count in cases:
        turn += 1
        given, result = own(name, op, n, team.me, MOST)[:count], expected(name, op, n, MOST)[:count]
        for x_key, x_at, out_key, out_at in places(n, algorithm, turn):
            x = arrays[x_key][GUARD + x_at : GUARD + x_at + count]
            out = arrays[out_key][GUARD + out_at : GUARD + out_at + count]
            write(x, given)
            in_place = x_key == out_key
            assert team.allreduce(x, None if in_place else out, op, algorithm) is (x if in_place else out)
            where = f"{op} of {count} in {x_key}{x_at}, out {out_key}{out_at}"
            assert same(out, result), f"{where}: {to_numpy(out)[:8]} and not {result[:8]}"
            assert in_place or same(x, given), f"{where}: x was written"
            write(x, canary[:count])
            write(out, canary[:count])
            around = slice(count + 2 * GUARD + 1)
            for key in {x_key, out_key}:
                assert same(arrays[key][around], canary[around]), f"{where}: written outside"


@pytest.mark.parametrize("algorithm", TABLE if N_PES <= 3 else some(TABLE, 4))
def test_large(team, algorithm):
    """Larger than every workspace: several rounds of every block."""
    name = first_taken(team, algorithm, "int64", "float32")
    count = (1 << 20) + 77
    values = np.arange(count) % 4099
    x = team.array(values * (team.me + 1), name)
    team.allreduce(x, algorithm=algorithm)
    assert same(x, values * (team.n_pes * (team.n_pes + 1) // 2))
    team.free(x)


@pytest.mark.hosts
@pytest.mark.parametrize("shape", [(), (5, 7), (2, 0, 3), (1, 1, 9)])
def test_any_shape(team, shape):
    x = team.full(shape, team.me, "int32")
    out = team.allreduce(x, team.empty(shape, "int32"), "max")
    assert out.shape == shape and same(out, np.full(shape, team.n_pes - 1))
    team.free(x)
    team.free(out)


def test_the_algorithm_of_the_environment(team, monkeypatch):
    x = team.full(3, 1, "float32")
    for algorithm in [name for name, row in TABLE.items() if not row.refuse(team.place, "float32", "sum")]:
        monkeypatch.setenv("PENNYMPI_ALGORITHM", f"allreduce:{algorithm}")
        with_it = team.allreduce(x, device(team, np.zeros(3, np.float32)))
        assert same(with_it, np.full(3, team.n_pes))
    monkeypatch.setenv("PENNYMPI_ALGORITHM", "allreduce:no_such")
    with pytest.raises(ValueError, match="'no_such' of allreduce is unknown: use one of ring"):
        team.plan_allreduce(x)
    team.free(x)
