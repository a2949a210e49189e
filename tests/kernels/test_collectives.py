"""The collectives beside AllReduce: every algorithm, dtype, op, root, size, alignment and place, bit for bit."""

import random
import time

import numpy as np
import pytest
from collective_cases import ALGORITHMS, CASES, Call, right, runs_here
from on_device import device, same, to_numpy, write
from reductions import OPS

from pennympi.arrays.dtypes import TABLE as DTYPES

pytestmark = [pytest.mark.mpi, pytest.mark.hosts(most_pes=8)]

SIZES = (0, 1, 3, 16, 255, 4097)
GUARD = 16  # elements around x and out that must stay as they are
# (x, its offset, out, its offset): "s", "t" symmetric, "p", "q" plain; x itself is in place
PLACES = (("s", 0, "t", 0), ("p", 1, "p", 1), ("t", 1, "q", 0), ("s", 0, "s", 0), ("p", 0, "t", 1), ("q", 0, "p", 0))


@pytest.fixture(scope="module")
def memory(team):
    """Bytes for x and out, symmetric and plain, all of them canaries."""
    canary = np.full((2 * GUARD + 1 + team.n_pes * max(SIZES)) * 8, 0x5A, np.uint8)
    symmetric = {key: team.array(canary) for key in "st"}
    yield symmetric | {key: device(team, canary) for key in "pq"}, canary
    for x in symmetric.values():
        team.free(x)


def around_is_whole(whole, at, length, canary):
    """Whether nothing but ``length`` elements from ``at`` was written."""
    low, high = to_numpy(whole[at - GUARD : at]), to_numpy(whole[at + length : at + length + GUARD])
    return low.tobytes() == high.tobytes() == canary.view(whole.dtype)[:GUARD].tobytes()


@pytest.mark.parametrize(("collective", "algorithm"), ALGORITHMS)
def test_exact(team, memory, collective, algorithm):
    case, (arrays, canary) = CASES[collective], memory
    n = team.n_pes
    rows = case.rows(n)
    # Op, root and place change from call to call; with two PEs every size comes in three places, and with many
    # PEs some of the dtypes, which are others for other PE counts.
    turn = ALGORITHMS.index((collective, algorithm)) + n
    stride = 1 if n <= 3 else 2 if n <= 5 else 4
    names = [*DTYPES] if case.reduces else ["uint8", "float16", "float32", "int64"]
    for name in names[turn % stride :: stride]:
        views = {key: x.view(DTYPES[name].numpy) for key, x in arrays.items()}
        for count in SIZES * (3 if n == 2 else 1):
            turn += 1
            x_key, x_at, out_key, out_at = PLACES[turn % len(PLACES)]
            call = Call(name, OPS[turn % len(OPS)], n, team.me, turn % n, count)
            if not runs_here(team, collective, algorithm, name, call.op):
                continue
            in_place = x_key == out_key or case.one_array
            x = views[x_key][GUARD + x_at : GUARD + x_at + rows[0] * count]
            out = views[out_key][GUARD + out_at : GUARD + out_at + rows[1] * count]
            whole = views[x_key][GUARD + x_at : GUARD + x_at + max(rows) * count]
            if in_place:
                x, out = case.in_place(whole, call)
            given = case.x(call)
            write(x, given)
            before = to_numpy(out)
            returned = case.run(team, call, x, out, algorithm=algorithm)
            assert returned is (None if case.out(call) is None else out)
            where = f"{call} {x_key}{x_at} {out_key}{out_at}"
            assert right(case, call, out, before), f"{where}: {to_numpy(out)[:8]} and not {case.out(call)}"
            assert in_place or same(x, given), f"{where}: x was written"
            used = [(x_key, x_at, max(rows))] if in_place else [(x_key, x_at, rows[0]), (out_key, out_at, rows[1])]
            for key, at, parts in used:
                assert around_is_whole(views[key], GUARD + at, parts * count, canary), f"{where}: written outside"
                write(views[key][GUARD + at : GUARD + at + parts * count], canary.view(x.dtype)[: parts * count])


@pytest.mark.parametrize(("collective", "algorithm"), ALGORITHMS)
def test_large(team, collective, algorithm):
    """Larger than every workspace: several rounds of every block, to symmetric and to plain memory at once."""
    if not runs_here(team, collective, algorithm):
        pytest.skip("the algorithm says that it can't run here")
    case, n = CASES[collective], team.n_pes
    call = Call("int32", "sum", n, team.me, n - 1, ((1 << 19) + 77) // n)
    outs = [case.fresh(team.array, call), case.fresh(lambda values: device(team, values), call)]
    for x, out in (*outs, outs[team.me % 2]):
        time.sleep(random.random() / 200)  # a peer that came early must not write out yet
        write(out, np.zeros(out.size))
        write(x, case.x(call))
        case.run(team, call, x, out, algorithm=algorithm)
        assert right(case, call, out, np.zeros(out.size))
    for x in outs[0][: 1 if case.one_array else 2]:
        team.free(x)


class Calls:
    """Calls of any collective, algorithm, dtype, op, root and size, each on memory of its own; checked at the end."""

    def __init__(self, team, calls, seed):
        shared, self.late = random.Random(seed), random.Random(1000 * seed + team.me)
        self.team, self.list, n = team, [], team.n_pes
        ends = {"s": 0, "p": 0}
        for number in range(calls):
            collective, algorithm = shared.choice(ALGORITHMS)
            case, name = CASES[collective], shared.choice(("int32", "float16", "uint8"))
            count = 150_000 // n if number % 20 == 0 else int(10 ** shared.uniform(0, 3.5))  # some of many pieces
            call = Call(name, shared.choice(("sum", "min", "max")), n, team.me, shared.randrange(n), count)
            if not runs_here(team, collective, algorithm, name, call.op):
                algorithm = "auto"
            key, sizes = shared.choice("sp"), [rows * count * DTYPES[name].item_bytes for rows in case.rows(n)]
            starts = [-(-ends[key] // 16) * 16 + shared.randrange(2) * DTYPES[name].item_bytes, 0]
            starts[1] = -(-(starts[0] + sizes[0]) // 16) * 16 + shared.randrange(2) * DTYPES[name].item_bytes
            ends[key] = starts[1] + sizes[1]
            self.list.append((case, algorithm, call, key, starts, sizes))
        self.memory = {"s": team.zeros(ends["s"], "uint8"), "p": device(team, np.zeros(ends["p"], np.uint8))}
        self.arrays = []
        for case, _, call, key, starts, sizes in self.list:
            x, out = (
                self.memory[key][start : start + size].view(DTYPES[call.name].numpy)
                for start, size in zip(starts, sizes, strict=True)
            )
            write(x, case.x(call))
            self.arrays.append((x, x if case.one_array else out))
        team.synchronize()

    def run(self, streams):
        for (case, algorithm, call, *_), (x, out) in zip(self.list, self.arrays, strict=True):
            if self.late.randrange(10) == 0:
                time.sleep(self.late.random() / 1000)
            stream = self.late.choice(streams)  # each PE's own
            case.run(self.team, call, x, out, algorithm=algorithm, stream=stream)
        self.team.synchronize()

    def check(self):
        for (case, algorithm, call, *_), (_, out) in zip(self.list, self.arrays, strict=True):
            assert right(case, call, out, np.zeros(out.size)), (case.name, algorithm, call)
        self.team.free(self.memory["s"])


def test_back_to_back(team):
    """No synchronisation between the calls, PEs of different speeds, several streams that differ between PEs."""
    calls = Calls(team, 200 if team.n_pes <= 4 else 60, 1)
    calls.run([team.stream(), team.stream("high"), None])
    calls.check()


@pytest.mark.parametrize("collective", CASES)
def test_plan(team, collective):
    """Two plans of one collective in turn with eager calls, new data before every call."""
    case, n = CASES[collective], team.n_pes
    calls = [Call("float32", "sum", n, team.me, n // 2, 3000), Call("int64", "max", n, team.me, n - 1, 50)]
    arrays = [case.fresh(lambda values: device(team, values), call) for call in calls]
    plans = [case.plan(team, call, *both) for call, both in zip(calls, arrays, strict=True)]
    for step in range(6):
        for plan, call, (x, out) in zip(plans, calls, arrays, strict=True):
            write(out, np.zeros(out.size))
            write(x, case.x(call))
            if step % 3 == 2:
                case.run(team, call, x, out)
            else:
                stream = team.stream() if step % 2 else None
                team.synchronize()  # what was written, in the order of the current stream
                plan(stream)
                team.synchronize()
            assert right(case, call, out, np.zeros(out.size)), step


def test_the_algorithm_of_the_environment(team, monkeypatch):
    for collective, case in CASES.items():
        call = Call("float32", "sum", team.n_pes, team.me, 0, 5003)  # of its own: the choice is kept with the count
        x, out = case.fresh(lambda values: device(team, values), call)
        monkeypatch.setenv(f"PENNYMPI_{collective.upper()}", "no_such")
        with pytest.raises(ValueError, match=f"'no_such' is unknown: use auto, {[*case.table][0]}"):
            case.run(team, call, x, out)
        monkeypatch.setenv(f"PENNYMPI_{collective.upper()}", [*case.table][0])
        case.run(team, call, x, out)
        assert right(case, call, out, np.zeros(out.size))
