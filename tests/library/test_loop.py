"""Loops of the device, compared with loops of the host that read the value after each run: the same runs and bits."""

import gc
from contextlib import nullcontext
from functools import partial
from weakref import ref

import numpy as np
import pytest
from collective_cases import CASES, Call
from on_device import same, to_numpy, write
from refused import refused
from shrinking import LIMIT, Shrinking, check_loop, copy, run_by_host, shrink
from sweep_reference import laplace

import pennympi
from pennympi.kernels.block import Words, add_shared, lanes, read_epoch
from pennympi.kernels.exchange import TABLE as FORMS

pytestmark = [pytest.mark.mpi, pytest.mark.hosts(most_pes=8)]


def of_a_collective(team, step, name, planned):
    case, call = CASES[name], Call("float64", "max", team.n_pes, team.me, team.n_pes - 1, 65)
    x, out = case.fresh(team.array, call)
    run = case.plan(team, call, x, out) if planned else partial(case.run, team, call, x, out)

    def body(stream):
        run(stream=stream)
        step(x, stream)

    return [(x, case.x(call))], (x, out), body


def of_exchanges(team, step, form):
    x, theirs = team.zeros(33, "float64"), team.zeros(33, "float64")

    def body(stream):
        team.exchange(theirs, x, team.n_pes - 1 - team.me, form, stream)
        step(theirs, stream)
        team.exchange(x, theirs, team.n_pes - 1 - team.me, form, stream)

    return [(x, np.arange(33) + team.me)], (x, theirs), body


def of_halos(team, step):
    u = team.grid((4 * team.n_pes, 9), periodic=True).zeros("float64")
    exchange = team.grid((4 * team.n_pes, 9), periodic=True).plan_exchange(u)

    def body(stream):
        exchange(stream)
        step(u, stream)

    return [(u, np.arange(u.size).reshape(u.shape) + team.me)], (u,), body


def of_one_sided_calls(team, step):
    """Send a row round the ring.  The AllReduce after it shows that its signal was received, and cleared."""
    right, left = (team.me + 1) % team.n_pes, (team.me - 1) % team.n_pes
    row, signal, x, put = team.zeros(50, "float64"), team.signals(1), team.zeros(50, "float64"), team.zeros(50, "float64")
    zero = team.kernel(copy, "int64")
    none = team.zeros(1, "int64")

    def body(stream):
        team.put_signal(row, x, signal, 1, right, stream)
        team.wait_signal(signal, 1, left, stream)
        zero(1, signal.view("int64"), none, stream=stream)
        team.get(x, row, team.me, stream)
        team.put(put, x, right, stream)
        team.barrier(stream)
        step(x, stream)

    return [(x, np.arange(50) + 100 * team.me)], (x, row, put), body


BODIES = [(of_a_collective, name, planned) for name in CASES for planned in (True, False)]
BODIES += [*((of_exchanges, form) for form in FORMS), (of_halos,), (of_one_sided_calls,)]


@pytest.mark.parametrize("case", BODIES, ids=lambda case: "-".join([case[0].__name__, *map(str, case[1:])]))
def test_bodies(team, case):
    make, *arguments = case
    shrinking = Shrinking(team)
    starts, arrays, body = make(team, shrinking.step, *arguments)

    def reset():
        shrinking.reset()
        for x, values in starts:
            write(x, values)

    assert check_loop(team, reset, body, shrinking.value, arrays) >= 4


@pytest.mark.parametrize(("turn", "engine"), [(1, "blocked"), (1, "resident"), (2, "plain")])
def test_sweeps_until_their_norm_is_small(team, turn, engine):
    """A plan of two sweeps whose norm is the value; or two plans of one sweep each, whose norms go to the value."""
    grid = team.grid((36, 40), halo=2, periodic=(True, False))
    u, v = grid.zeros("float32"), grid.zeros("float32")
    pairs = ((u, v),) if turn == 1 else ((u, v), (v, u))
    sweeps = [grid.plan_sweep(laplace, *pair, 3 - turn, norm=True, engine=engine) for pair in pairs]
    value = sweeps[0].norm if turn == 1 else team.zeros(1, "float64")
    to_value = team.kernel(copy, "float64")

    def body(sweep, stream):
        sweep(stream)
        if turn > 1:
            to_value(1, value, sweep.norm, stream=stream)

    def reset():
        for field in (u, v):
            field[...] = 0
            if grid.neighbour("y-") is None:
                grid.halo_of(field, "y-")[...] = 1

    bodies = [partial(body, sweep) for sweep in sweeps]
    host = iter(10_000 * bodies)
    reset()
    team.barrier()
    runs = run_by_host(team, lambda stream: next(host)(stream), value)
    newest = (u, v)[runs % 2] if turn == 2 else u
    norm, field = to_numpy(value), to_numpy(newest)
    assert runs > 8 and norm[0] <= LIMIT
    reset()
    team.barrier()
    loop = team.plan_loop(bodies, value, LIMIT)
    loop()
    team.synchronize()
    assert to_numpy(loop.runs).tolist() == [runs] == team.gather(runs)[:1]
    if team.backend == "host" or runs % turn == 0:  # else the last sweeps of the turn have run, too
        assert same(value, norm) and same(newest, field)


def test_sweeps_that_would_not_go_on(team):
    """A body is refused if the next run would begin with an older field than the last result; functions are trusted."""
    grid = team.grid((36, 40), halo=3, periodic=(True, False))
    u, v, value = grid.zeros("float32"), grid.zeros("float32"), team.zeros(1, "float64")
    there, back = (grid.plan_sweep(laplace, *pair, 3, norm=True, engine="plain") for pair in ((u, v), (v, u)))
    even, total = grid.plan_sweep(laplace, u, v, 2, engine="plain"), team.plan_allreduce(value)
    for bodies in (there, [there], [there, total], [there, there], [even, there], [there, even], [there, back, back]):
        refused(ValueError, "take an even number of sweeps, or two plans", team.plan_loop, bodies, value, 0)
    for bodies in (even, [there, back], [even, there, back, even], [there, total, back]):
        team.plan_loop(bodies, value, 0)
    team.plan_loop([there, lambda stream: None], value, 0)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(("start", "below", "most", "runs"), [
    (1, -1, 5, 5), (1, 0.5, 5, 1), (1, 0.25, 5, 2), (0, 1, 5, 1), (1, 0.25, 1, 1), (np.nan, 0, 5, 1), (np.inf, 1, 7, 7),
])  # fmt: skip
def test_ends(team, dtype, start, below, most, runs):
    """A loop ends after ``most`` runs, at a small value, at a value equal to the limit, at NaN, and not at inf."""
    value, unused = team.zeros(1, dtype), team.zeros(1, dtype)
    halve = team.kernel(shrink, dtype)
    body = lambda stream: halve(1, value, 1, unused, 1.0, stream=stream)  # noqa: E731
    assert check_loop(team, lambda: write(value, [start]), body, value, (), below, most) == runs
    loop = team.plan_loop([body] * 3, value, below, most)
    write(value, [start])
    loop(team.stream("high"))
    team.synchronize()
    assert to_numpy(loop.runs).tolist() == [runs] and "loop" in repr(loop)


@pytest.mark.parametrize(("runs", "n_bodies"), [(1, 1), (3, 1), (2, 3), (100, 2)])
def test_turns_of_the_host_change_nothing(team, runs, n_bodies):
    """The host has its turn when all bodies have run equally often, and not after the end."""
    shrinking, x, turns = Shrinking(team), team.zeros(3, "float64"), []
    loop = team.plan_loop([partial(shrinking.step, x)] * n_bodies, shrinking.value, LIMIT)

    def after(**options):
        write(x, [1.0, 2.0, 3.0])
        shrinking.reset()
        team.barrier()
        loop(**options)
        team.synchronize()
        assert to_numpy(loop.done)[0] == 1
        return [to_numpy(one) for one in (loop.runs, shrinking.value, x)]

    whole = after()
    for call in (turns.append, None, turns.append):
        parts = after(every=runs, call=call) if call else after()
        assert all(map(same, parts, whole))
    step = -(-runs // n_bodies) * n_bodies
    assert turns == 2 * list(range(step, int(whole[0][0]), step))


def test_a_turn_of_the_host_that_raises_leaves_a_loop_that_runs(team):
    shrinking, x = Shrinking(team), team.zeros(3, "float64")
    loop = team.plan_loop(partial(shrinking.step, x), shrinking.value, LIMIT)
    shrinking.reset()
    with pytest.raises(ZeroDivisionError):
        loop(every=1, call=lambda runs: runs // 0)
    assert to_numpy(loop.runs)[0] == 1
    for wrong, error, text in (
        ({"every": 0, "call": print}, ValueError, "every must be at least 1, got 0"),
        ({"every": 2}, TypeError, "every=2 needs call=, a function of the number of runs so far, got None"),
        ({"call": print}, TypeError, "every must be an int, got None"),
    ):
        with pytest.raises(error, match=text):
            loop(**wrong)
    loop()
    team.synchronize()
    assert to_numpy(shrinking.value)[0] <= LIMIT and to_numpy(loop.done)[0] == 1


def count(ctx, runs: Words, done: Words):
    for _ in lanes(0, 1):
        if read_epoch(done, 0) == 0:
            add_shared(runs, 0, 1)


def test_kernels_of_a_body_read_done(team):
    """Sweeps do nothing in the bodies after the one that ends the loop, which a GPU still runs."""
    shrinking, x, (runs, done) = Shrinking(team), team.zeros(1, "float64"), (team.zeros(1, "int64") for _ in range(2))
    counting = team.kernel(count, "int64")

    def body(stream):
        counting(1, runs, done, stream=stream)
        shrinking.step(x, stream)

    loop, right = team.plan_loop([body] * 7, shrinking.value, LIMIT, done=done), 0
    assert loop.done is done
    for most in (10_000, 10_000, 2):
        if most == 2:
            loop = team.plan_loop([body] * 7, shrinking.value, LIMIT, most, done)
        shrinking.reset()
        loop()
        team.synchronize()
        right += int(to_numpy(loop.runs)[0])
        assert to_numpy(runs).tolist() == [right] and to_numpy(done).tolist() == [1]


def test_errors_name_the_remedy(team):
    value, two, whole = team.zeros(1, "float64"), team.zeros(2, "float64"), team.zeros(1, "int64")
    body = lambda stream: None  # noqa: E731
    every = [
        ((None, value, 0), TypeError, "body must be a function of a stream, or a sequence of such functions, got None"),
        (([], value, 0), TypeError, r"body must be .*, got \[\]"),
        (([body, 3], value, 0), TypeError, "body must be"),
        ((body, two, 0), ValueError, "value must have one element, got 2"),
        ((body, whole, 0), pennympi.Unsupported, "value must be of float32 or float64, got int64"),
        ((body, value, 0, 1.5), TypeError, "most must be an int, got 1.5"),
        ((body, value, 0, 0), ValueError, "most must be at least 1, got 0"),
        ((body, value, 0, 1, value), pennympi.Unsupported, "done must be of int64, got float64"),
        ((body, value, 0, 1, two.view("int64")), ValueError, "done must have one element, got 2"),
    ]
    for args, kind, text in every:
        refused(kind, text, team.plan_loop, *args)
    if team.n_pes > 1:
        for args in ((body, value, team.me), (body, value, 0, 5 + team.me), ([body] * (1 + team.me), value, 0)):
            refused(ValueError, "each PE must ask for the same loop: this PE asks for", team.plan_loop, *args)
        error, text = (ValueError, "PE 0: TypeError") if team.me else (TypeError, "body must be")
        refused(error, text, team.plan_loop, body if team.me else None, value, 0)


def test_a_body_that_raises_on_one_pe(team):
    value, unused = team.full(1, 1, "float64"), team.zeros(1, "float64")
    halve = team.kernel(shrink, "float64")

    def body(stream):
        if team.me == 0:
            raise ZeroDivisionError("in the body")
        halve(1, value, 1, unused, 1.0, stream=stream)

    if team.backend == "host":
        loop = team.plan_loop(body, value, 0.1)
        with pytest.raises(ZeroDivisionError) if team.me == 0 else nullcontext():
            loop()
        assert to_numpy(value)[0] == (1 if team.me == 0 else 1 / 16)
    else:
        with pytest.raises(pennympi.Unsupported if team.me else ZeroDivisionError, match="in the body"):
            team.plan_loop(body, value, 0.1)


@pytest.mark.parametrize("freed", [0, 1])
def test_a_loop_ends_with_its_arrays_and_its_team(team, freed):
    arrays = value, done = team.zeros(1, "float64"), team.zeros(1, "int64")
    loop = team.plan_loop(lambda stream: None, value, 0, done=done)
    loop()
    team.free(arrays[freed])
    refused(ValueError, "an array of this plan was freed: make the plan anew", loop)
    refused(ValueError, "was freed", team.plan_loop, lambda stream: None, value, 0, done=done)
    team.free(arrays[1 - freed])
    gone = ref(loop)
    del loop
    gc.collect()
    assert gone() is None
    with pennympi.init(team.comm) as other:
        loop = other.plan_loop(lambda stream: None, other.zeros(1, "float64"), 0)
        other.synchronize()
    for call in (loop, lambda: other.plan_loop(lambda stream: None, value, 0)):
        with pytest.raises(pennympi.NotInitialized):
            call()
