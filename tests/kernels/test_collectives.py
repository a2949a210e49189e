"""The collectives by every algorithm: dtypes, ops, roots, sizes, alignments and places, bit for bit."""

import random
import time

import numpy as np
import pytest
from collective_cases import ALGORITHMS, CASES, Call, is_right, runs_here
from mpi4py import MPI
from on_device import device, same, skip_if_refused, to_numpy, write
from reductions import op_of

from pennympi import Unsupported
from pennympi.arrays.dtypes import TABLE as DTYPES
from pennympi.kernels.allreduce import PLANNED

pytestmark = [pytest.mark.mpi, pytest.mark.hosts(most_pes=8)]

SIZES = (0, 1, 3, 16, 255, 4097, 20_011)
GUARD = 64  # bytes around x and out that must not change
# (x, bytes from a multiple of 16, out, bytes): "s", "t" symmetric, "p", "q" plain; the same letter twice is in place
PLACES = (
    ("s", 0, "t", 0), ("p", 0, "p", 0), ("s", 1, "t", 2), ("t", 8, "q", 0), ("s", 0, "s", 0), ("p", 3, "q", 1),
    ("p", 0, "t", 8), ("q", 1, "q", 1), ("p", 8, "q", 8), ("s", 0, "q", 0), ("t", 8, "t", 8),
)  # fmt: skip


@pytest.fixture(scope="module")
def memory(team):
    """Bytes for x and out, symmetric and plain, all of them canaries."""
    canary = np.full(2 * GUARD + team.n_pes * max(SIZES) * 8, 0x5A, np.uint8)
    return {key: team.array(canary) if key in "st" else device(team, canary) for key in "stpq"}


def cases(team, collective, algorithm):
    """(call, place): each dtype with every size and one op; the other arguments change from call to call."""
    case, n = CASES[collective], team.n_pes
    turn, stride = ALGORITHMS.index((collective, algorithm)) + n, 1 if n <= 3 else 2 if n <= 5 else 4
    names = [*DTYPES] if case.reduces else ["uint8", "float16", "float32", "int64"]
    for name in names[turn % stride :: stride]:
        for count in SIZES * (2 if n <= 3 else 1):
            turn += 1
            call = Call(name, op_of(name), n, team.me, turn % n, count, 13 * turn)
            if runs_here(team, collective, algorithm, name, call.op):
                yield call, PLACES[turn % len(PLACES)]


@pytest.mark.parametrize(("collective", "algorithm"), ALGORITHMS)
def test_exact(team, memory, collective, algorithm):
    case = CASES[collective]
    for call, (x_key, x_at, out_key, out_at) in cases(team, collective, algorithm):
        rows, item = case.rows(call.n), DTYPES[call.name].item_bytes

        def array(key, offset, parts, call=call, item=item):
            return memory[key][GUARD + offset :][: parts * call.count * item].view(DTYPES[call.name].numpy)

        x, out = array(x_key, x_at, rows[0]), array(out_key, out_at, rows[1])
        in_place = x_key == out_key or case.one_array
        if in_place:
            x, out = case.in_place(array(x_key, x_at, max(rows)), call)
        given = case.x(call)
        write(x, given)
        before = to_numpy(out)
        returned = case.run(team, call, x, out, algorithm=algorithm)
        assert returned is (None if case.out(call) is None else out)
        where = f"{call} {x_key}{x_at} {out_key}{out_at}"
        assert is_right(case, call, out, before), f"{where}: {to_numpy(out)[:8]} and not {case.out(call)}"
        assert in_place or same(x, given), f"{where}: x was written"
        used = {x_key: (x_at, max(rows))} if in_place else {x_key: (x_at, rows[0]), out_key: (out_at, rows[1])}
        for key, (at, parts) in used.items():
            end = GUARD + at + parts * call.count * item
            write(memory[key][GUARD + at : end], np.full(end - GUARD - at, 0x5A))
            assert (to_numpy(memory[key][: end + GUARD]) == 0x5A).all(), f"{where}: written outside"


@pytest.mark.parametrize(("collective", "algorithm"), ALGORITHMS)
def test_large(team, collective, algorithm):
    """Arrays larger than every workspace: several rounds of every block, to symmetric and to plain memory."""
    name = "int32" if runs_here(team, collective, algorithm, "int32") else "float32"
    if not runs_here(team, collective, algorithm, name):
        pytest.skip("the algorithm says that it can't run here")
    case, n = CASES[collective], team.n_pes
    call = Call(name, "sum", n, team.me, n - 1, ((1 << 19) + 77) // n)
    outs = [case.fresh(team.array, call), case.fresh(lambda values: device(team, values), call)]
    for x, out in (*outs, outs[team.me % 2]):
        time.sleep(random.random() / 200)  # a peer that came early must not write to out yet
        write(out, np.zeros(out.size))
        write(x, case.x(call))
        case.run(team, call, x, out, algorithm=algorithm)
        assert is_right(case, call, out, np.zeros(out.size))


@pytest.mark.parametrize(("collective", "algorithm"), ALGORITHMS)
def test_plan(team, collective, algorithm):
    """Two plans of one collective take turns with eager calls, with new data before every call."""
    if not runs_here(team, collective, algorithm):
        pytest.skip("the algorithm says that it can't run here")
    case, n = CASES[collective], team.n_pes
    calls = [Call("float32", "sum", n, team.me, n // 2, 3000), Call("float32", "sum", n, team.me, n - 1, 50)]
    arrays = [case.fresh(lambda values: device(team, values), call) for call in calls]
    plans = [case.plan(team, call, *both, algorithm=algorithm) for call, both in zip(calls, arrays, strict=True)]
    for step in range(6):
        for plan, call, (x, out) in zip(plans, calls, arrays, strict=True):
            write(out, np.zeros(out.size))
            write(x, case.x(call))
            if step % 3 == 2:
                case.run(team, call, x, out, algorithm=algorithm)
            else:
                stream = team.stream() if step % 2 else None
                team.synchronize()  # the writes to the arrays are in the order of the current stream
                plan(stream)
                team.synchronize()
            assert is_right(case, call, out, np.zeros(out.size)), step


@pytest.mark.parametrize("algorithm", PLANNED)
def test_a_plan_that_writes_the_peers_out(team, algorithm):
    """Every dtype with some op and size, others at other PE counts, in place and not, at any alignment, twice."""
    skip_if_refused(team, algorithm)
    case, most = CASES["allreduce"], 8 * max(SIZES) + 2 * GUARD
    memory = [team.array(np.full(most, 0x5A, np.uint8)) for _ in range(2)]
    for turn, name in enumerate(DTYPES, team.n_pes):  # each plan has a workspace
        dtype, count = DTYPES[name], SIZES[turn % len(SIZES)]
        call = Call(name, op_of(name), team.n_pes, team.me, 0, count)
        x, out = (
            one[GUARD + at :][: count * dtype.item_bytes].view(dtype.numpy)
            for one, at in zip(memory, ((0, 0), (1, 3), (8, 8))[turn % 3], strict=True)
        )
        target = x if turn % 4 == 0 else out
        plan = team.plan_allreduce(x, None if target is x else target, call.op, algorithm)
        for _ in range(2):
            write(x, case.x(call))
            team.barrier()
            plan()
            assert is_right(case, call, target, None), call
            team.barrier()


def test_auto_writes_the_peers_out_when_all_name_the_same(team):
    """A plan on a shared out and one on arrays of different places, of the same size, give the same result."""
    x, out, other = team.full(5000, team.me + 1.0, "float32"), team.empty(5000, "float32"), team.empty(5000, "float32")
    for target in (out, out if team.me % 2 else other, device(team, np.zeros(5000, np.float32))):
        plan = team.plan_allreduce(x, target)
        plan()
        assert same(target, np.full(5000, team.n_pes * (team.n_pes + 1) / 2, np.float32))


@pytest.mark.parametrize("algorithm", PLANNED)
def test_an_out_that_is_not_shared_is_refused(team, algorithm):
    if team.n_pes == 1:
        pytest.skip("one PE has no peer to share with")
    x, out, other = team.full(64, 1.0, "float32"), team.empty(64, "float32"), team.empty(64, "float32")
    with pytest.raises(Unsupported, match="runs in plans whose out is the same symmetric array on every PE"):
        team.allreduce(x, out, algorithm=algorithm)
    for target in (out if team.me else other, out[1:] if team.me else out[:-1], device(team, np.zeros(64, np.float32))):
        with pytest.raises(Unsupported, match="runs in plans whose out is the same"):
            team.plan_allreduce(x[: target.size], target, algorithm=algorithm)
    assert same(team.allreduce(x, out), np.full(64, team.n_pes, np.float32))


@pytest.mark.parametrize("planned", [False, True])
@pytest.mark.parametrize("collective", ["allreduce", "all_gather", "all_to_all", "reduce"])
def test_mpi_in_place(team, collective, planned):
    """x may be MPI.IN_PLACE, as in mpi4py; in a reduction to a root only on the root, or on every PE."""
    case, n = CASES[collective], team.n_pes
    for root, at_root_alone in ((n - 1, False), (0, collective == "reduce")):
        call = Call("float32", "sum", n, team.me, root, 5)
        x, out = case.in_place(device(team, np.zeros(max(case.rows(n)) * 5, np.float32)), call)
        write(x, case.x(call))
        before, elsewhere = to_numpy(out), at_root_alone and team.me != root
        arrays = (x, None) if elsewhere else (MPI.IN_PLACE, out)
        run = getattr(team, f"plan_{collective}" if planned else collective)(*arrays, **case.options(call))
        if planned:
            run()
            team.synchronize()
        assert is_right(case, call, out, before)
    out, more = device(team, np.full(5, team.me, np.int32)), device(team, np.ones(5, np.int32))
    assert same(team.allreduce(MPI.IN_PLACE, out, residual=more), np.full(5, 1 + sum(range(n))))


def test_the_algorithm_of_the_environment(team, monkeypatch):
    for collective, case in CASES.items():
        call = Call("float32", "sum", team.n_pes, team.me, 0, 5003)  # a new count: the team keeps its choice for each
        x, out = case.fresh(lambda values: device(team, values), call)
        able = next(name for name in case.table if runs_here(team, collective, name))
        monkeypatch.setenv("PENNYMPI_ALGORITHM", f"{collective}:no_such")
        with pytest.raises(ValueError, match=f"algorithm 'no_such' of {collective} is unknown: use"):
            case.run(team, call, x, out)
        monkeypatch.setenv("PENNYMPI_ALGORITHM", f"{collective}:{able}")
        case.run(team, call, x, out)
        assert is_right(case, call, out, np.zeros(out.size))
