"""Arrays that start at any byte: in every algorithm, as x, out and residual, and in one-sided calls, bit for bit."""

import numpy as np
import pytest
from collective_cases import ALGORITHMS, CASES, Call, right, runs_here
from on_device import device, same, skip_if_refused, write
from reductions import expected, expected_plus, own

from pennympi.kernels.allreduce import PLANNED, TABLE

pytestmark = pytest.mark.mpi

NAMES = ("float32", "float16", "float64", "bfloat16")
COUNTS = (255, 4097)
GUARD, CANARY = 16, 0x5A


@pytest.fixture(scope="module")
def memory(team):
    """Bytes for x, out and a residual: two symmetric, one plain."""
    nbytes = 2 * GUARD + 8 * max(COUNTS) * team.n_pes
    symmetric = [team.empty(nbytes, "uint8") for _ in range(2)]
    yield *symmetric, device(team, np.zeros(nbytes, np.uint8))
    for one in symmetric:
        team.free(one)


def placed(whole, shift, values):
    """An array of these values that starts ``shift`` bytes past a multiple of 16, among canaries."""
    write(whole, np.full(whole.size, CANARY))
    at = GUARD + shift
    array = type(whole)
    x = array(values.shape, values.dtype, whole[at:] if array is np.ndarray else whole.data + at)
    write(x, values)
    return x


def holds(whole, shift, values):
    """Whether these bits are there, and canaries everywhere else."""
    wanted = np.full(whole.size, CANARY, np.uint8)
    wanted[GUARD + shift :][: values.nbytes] = values.view(np.uint8)
    return same(whole, wanted)


@pytest.mark.parametrize("algorithm", TABLE)
def test_allreduce(team, memory, algorithm):
    n = team.n_pes
    for turn, name in enumerate(NAMES):
        if TABLE[algorithm].refuse(team.place, name, "sum"):
            continue
        count, x_at, out_at = COUNTS[turn % 2], (1, 3, 4, 0)[turn], (2, 0, 1, 1)[turn]
        given, result = own(name, "sum", n, team.me, count), expected(name, "sum", n, count)
        x, out = placed(memory[turn % 3], x_at, given), placed(memory[(turn + 1) % 3], out_at, np.zeros_like(given))
        assert team.allreduce(x, out, algorithm=algorithm) is out
        assert holds(memory[turn % 3], x_at, given) and holds(memory[(turn + 1) % 3], out_at, result), (name, count)
        x = placed(memory[turn % 3], out_at, given)
        team.allreduce(x, algorithm=algorithm)
        assert holds(memory[turn % 3], out_at, result), (name, count)


@pytest.mark.parametrize("algorithm", [name for name, row in TABLE.items() if row.residual])
def test_residual(team, memory, algorithm):
    skip_if_refused(team, algorithm, NAMES[0])
    n = team.n_pes
    for name, shifts in zip(NAMES, ((1, 2, 3), (3, 2, 1), (4, 0, 0), (0, 0, 1)), strict=True):
        count = COUNTS[shifts[0] % 2]
        given, more = own(name, "sum", n, team.me, count), own(name, "sum", n, (team.me + 1) % n, count)
        values = (given, np.zeros_like(given), more)
        x, out, rest = (placed(*one) for one in zip(memory, shifts, values, strict=True))
        team.allreduce(x, out, algorithm=algorithm, residual=rest)
        wanted = expected_plus(name, "sum", n, more, "two_shot" in algorithm and n > 1)
        for one in zip(memory, shifts, (given, wanted, more), strict=True):
            assert holds(*one), (name, count, one)


@pytest.mark.parametrize("algorithm", ["ring", "one_shot", *PLANNED])
def test_plan(team, memory, algorithm):
    skip_if_refused(team, algorithm)
    values = (own("float32", "sum", team.n_pes, team.me, 4097), np.zeros(4097, np.float32))
    x, out = placed(memory[0], 1, values[0]), placed(memory[1], 3, values[1])
    plan = team.plan_allreduce(x, out, algorithm=algorithm)
    for _ in range(2):
        team.barrier()  # the peers write out
        plan()
        assert holds(memory[0], 1, values[0]) and holds(memory[1], 3, expected("float32", "sum", team.n_pes, 4097))
        team.barrier()
        write(out, values[1])


@pytest.mark.parametrize(("collective", "algorithm"), ALGORITHMS)
def test_collectives(team, memory, collective, algorithm):
    case, n = CASES[collective], team.n_pes
    for turn, name in enumerate(NAMES if case.reduces else NAMES[:2]):
        if not runs_here(team, collective, algorithm, name):
            continue
        call = Call(name, "sum", n, team.me, turn % n, COUNTS[turn % 2])
        places = iter(((memory[turn % 3], 1 + turn), (memory[(turn + 1) % 3], 3 - turn)))
        x, out = case.fresh(lambda values, places=places: placed(*next(places), values), call)
        before = case.x(call) if case.one_array else np.zeros(out.size, out.dtype)
        case.run(team, call, x, out, algorithm=algorithm)
        assert right(case, call, out, before), call


def test_one_sided(team, memory):
    """put, get, put_signal and exchange; a signal is a word of its own, and must lie as one."""
    right_of, left_of = (team.me + 1) % team.n_pes, (team.me - 1) % team.n_pes
    signals = team.signals(3)
    values = [np.arange(4097, dtype=np.float32) + pe for pe in range(team.n_pes)]

    def arrays(dst, src):
        """The two, with this PE's values, when everybody is done with the last ones; everybody's are set."""
        team.barrier()
        team.synchronize()
        there, mine = placed(memory[0], dst, np.zeros(4097, np.float32)), placed(memory[1], src, values[team.me])
        team.barrier()
        team.synchronize()
        return there, mine

    there, mine = arrays(1, 2)
    team.put(there, mine, right_of)
    team.barrier()
    assert holds(memory[0], 1, values[left_of])
    there, mine = arrays(2, 3)
    team.get(there, mine, right_of)
    assert holds(memory[0], 2, values[right_of])
    there, mine = arrays(3, 0)
    team.put_signal(there, mine, signals[1:2], 1, right_of)
    team.wait_signal(signals[1:2], 1, left_of)
    assert holds(memory[0], 3, values[left_of])
    partner = -team.me % team.n_pes
    there, mine = arrays(1, 3)
    team.exchange(there, mine, partner)
    assert holds(memory[0], 1, values[partner])

    shifted = placed(memory[0], 4, np.zeros(1, np.uint64))
    for call in (lambda: team.put_signal(there, mine, shifted, 1, right_of), lambda: team.wait_signal(shifted, 1)):
        with pytest.raises(ValueError, match=r"a signal is one element of team.signals\(n\)"):
            call()
    team.barrier()
    team.free(signals)
