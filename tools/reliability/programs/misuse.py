"""python misuse.py KIND ...: uses the library as one should not, and prints "held KIND" where the promise is kept.

A function below is a kind.  Each PE asserts what it sees; nothing may hang, crash, or be wrong without a word."""

import gc
import multiprocessing
import sys
import threading

import numpy as np
from mpi4py import MPI
from on_device import device, same, to_numpy

import pennympi
from pennympi import NotInitialized, PennympiError
from pennympi.kernels.block import lanes, load, real, store

world = MPI.COMM_WORLD
REFUSED = (PennympiError, ValueError, TypeError)


def twice(ctx, x, n):
    """x (n,) *= 2."""
    for i in lanes(0, n):
        store(x, i, real(2) * load(x, i))


def refused(call, kinds=REFUSED):
    """The call raises one of these errors."""
    try:
        call()
    except kinds:
        return
    code = getattr(call, "__code__", None)
    raise AssertionError(f"not refused: {' '.join(code.co_names + code.co_freevars) if code else type(call).__name__}")


def finalized_twice():
    team = pennympi.init()
    team.finalize()
    team.finalize()


def outstanding_at_finalize():
    team = pennympi.init()
    x, out = team.full(100_000, 1, "float32"), np.zeros(0)
    y = device(team, np.zeros(100_000, np.float32))
    team.allreduce(x, y, stream=team.stream())
    team.finalize()
    assert same(y, np.full(100_000, world.size, np.float32)) and out.size == 0


def calls_after_finalize():
    team = pennympi.init()
    x, signals, plain = team.full(100, 1, "float32"), team.signals(2), device(team, np.ones(100, np.float32))
    plan, kernel, stream = team.plan_allreduce(x), team.kernel(twice, "float32"), team.stream()
    plan()
    kernel(1, x, 100)
    team.synchronize()
    team.finalize()
    for call in (
        plan, lambda: kernel(1, x, 100), lambda: team.allreduce(plain), lambda: team.plan_allreduce(plain), team.barrier,
        lambda: team.put(x, plain, 0), lambda: team.get(plain, x, 0), lambda: team.empty(3), lambda: team.gather(0),
        lambda: team.put_signal(x, plain, signals[0:1], 1, 0), lambda: team.wait_signal(signals[0:1], 1),
        lambda: team.exchange(plain, plain, 0), lambda: team.peer(x, 0), lambda: team.free(x), team.synchronize,
        lambda: team.synchronize(stream), team.stream, lambda: team.kernel(twice), team.topology, team.describe,
    ):  # fmt: skip
        refused(call, NotInitialized)


def arrays_after_finalize():
    with pennympi.init() as team:
        x, gone = team.full(5000, 3, "float32"), team.full(7, 1, "float32")
        view, peer = x[100:200], team.peer(x, (team.me + 1) % team.n_pes)
        team.free(gone)
        on_host = team.backend == "host"
    if on_host:
        for one in (x, view, peer):
            assert np.isin(one, (3, 4)).all()  # they share memory, with the peer too
            one[:] = 4
            assert float(one.sum()) == 4 * one.size
    with pennympi.init() as team:
        y = team.full(5000, 1, "float32")
        team.allreduce(y)
        team.synchronize()
        assert same(y, np.full(5000, team.n_pes, np.float32))


def freed_arrays():
    with pennympi.init() as team:
        x = team.full(100, 1, "float32")
        plan = team.plan_allreduce(x)
        view = x[:10]
        team.free(x)
        y = team.full(100, 5, "float32")
        for call in (plan, lambda: team.allreduce(view), lambda: team.allreduce(x), lambda: team.put(x, y, 0),
                     lambda: team.put(y, x, 0), lambda: team.broadcast(x), lambda: team.free(x),
                     lambda: team.peer(x, 0)):  # fmt: skip
            refused(call)
        team.synchronize()
        assert same(y, np.full(100, 5, np.float32)), "a freed array's plan wrote over another array"
        team.allreduce(y)
        team.synchronize()
        assert same(y, np.full(100, 5 * team.n_pes, np.float32))


def arrays_of_another_team():
    with pennympi.init() as team, pennympi.init() as other:
        x, y, words = team.full(100, 1, "float32"), other.full(100, 1, "float32"), team.signals(1)
        for call in (lambda: team.put(y, x, 0), lambda: team.free(y), lambda: team.peer(y, 0),
                     lambda: other.wait_signal(words, 0)):  # fmt: skip
            refused(call)
        try:
            team.allreduce(y)  # a copy would be right too
            team.synchronize()
        except REFUSED:
            return
        assert same(y, np.full(100, team.n_pes, np.float32))


def threads():
    """Two threads with a plan each, in no order: a call is right or raises, in time, and the teams' PEs still meet.

    The PEs run the plans in different orders, so that some PEs may be told so while others still wait for them.
    """
    team, other = pennympi.init(), pennympi.init()
    x = [team.full(1000, k + 1, "float32") for k in range(2)]
    out = [team.zeros(1000, "float32") for _ in range(2)]
    plans, wrong, told = [team.plan_allreduce(x[k], out[k]) for k in range(2)], [], []

    def run(k):
        try:
            for _ in range(200):
                plans[k]()
                team.synchronize()
                if not same(out[k], np.full(1000, (k + 1) * team.n_pes, np.float32)):
                    wrong.append(k)
        except REFUSED as error:
            told.append(f"{type(error).__name__}: {error}")

    both = [threading.Thread(target=run, args=(k,)) for k in range(2)]
    for one in both:
        one.start()
    for one in both:
        one.join()
    assert not wrong, "two threads: wrong results without a word"
    all_told = sum(world.allgather(told), [])
    if all_told and team.me == 0:
        print("threads were told:", *all_told, sep="\n  ", flush=True)
    assert other.gather(1) == [1] * other.n_pes
    if not all_told:  # else the PEs have made different calls, and the program ends with these teams open
        other.finalize()
        team.finalize()


def fork():
    """The end of a forked child is its own, whether it returns, raises or leaves."""
    with pennympi.init() as team:
        x = team.full(100, 1, "float32")
        for end in (print, lambda: 1 / 0, lambda: sys.exit(3)):
            child = multiprocessing.get_context("fork").Process(target=end)
            child.start()
            child.join()
        team.allreduce(x)
        team.synchronize()
        assert same(x, np.full(100, team.n_pes, np.float32))


def many_teams():
    """600 teams at once: they come, or a sentence says how many can."""
    teams, said = [], ""
    try:
        for _ in range(600):
            teams.append(pennympi.init(heap_bytes=1 << 20))
    except PennympiError as error:
        said = str(error)
    assert len(teams) > 100, f"after {len(teams)} teams: {said}"
    for team in reversed(teams):
        team.finalize()
    with pennympi.init() as team:
        assert team.gather(1) == [1] * team.n_pes


def dropped():
    """Plans and arrays that go out of scope, and teams that are collected."""
    with pennympi.init(heap_bytes=64 << 20) as team:
        x = team.full(1 << 18, 1, "float32")
        for k in range(200):
            plan = team.plan_allreduce(x, sms=1 + k % 3)
            plan()
            del plan
            gc.collect()
        team.synchronize()
        refused(lambda: team.full(10, "no number", "float32"))
        refused(lambda: team.full((1 << 20, 16), object(), "float32"))
        team.free(team.empty(1 << 20, "float32"))


def bad_arguments():
    with pennympi.init() as team:
        x, plain = team.full(100, 1, "float32"), device(team, np.ones(100, np.float32))
        matrix = team.full((10, 10), 1, "float32")
        bad = [None, (3,), "x", [1.0] * 100, matrix[:, 1], matrix.T[1:], object(), plain[::2], range(100)]
        for one in bad:
            for call in (lambda one=one: team.allreduce(one), lambda one=one: team.put(x, one, 0),
                         lambda one=one: team.broadcast(one), lambda one=one: team.exchange(one, one, 0)):  # fmt: skip
                refused(call)
        for pe in (-1, team.n_pes, 10**9, None, 0.5, "0"):
            for call in (
                lambda pe=pe: team.put(x, plain, pe),
                lambda pe=pe: team.peer(x, pe),
                lambda pe=pe: team.broadcast(x, root=pe),
                lambda pe=pe: team.exchange(x, plain, pe),
            ):
                refused(call)
        for shape in (-1, (1 << 40, 1 << 40), None, "x", (1, -2), 1 << 62):
            refused(lambda shape=shape: team.empty(shape, "float32"))
        for more in (
            {"op": "xor"},
            {"op": None},
            {"algorithm": "best"},
            {"algorithm": 3},
            {"sms": 0},
            {"out": plain[:50]},
        ):
            refused(lambda more=more: team.allreduce(x, **more))
        refused(lambda: team.allreduce(plain[:50], plain[20:70]))  # they overlap
        if team.backend == "host":
            fixed = np.ones(100, np.float32)
            fixed.flags.writeable = False
            refused(lambda: team.allreduce(fixed))
        team.allreduce(x)
        team.synchronize()
        assert same(x, np.full(100, team.n_pes, np.float32)) and to_numpy(plain).sum() == 100


KINDS = {name: value for name, value in list(globals().items()) if getattr(value, "__module__", "") == __name__
         and callable(value) and not getattr(value, "__code__", twice.__code__).co_argcount}  # fmt: skip

if __name__ == "__main__":
    for name in sys.argv[1:]:
        KINDS[name]()
        world.Barrier()
        if world.rank == 0:
            print(f"held {name}", flush=True)
