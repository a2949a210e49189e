"""Calls of a team on simulated PEs: right results on every network, and no alarm."""

from functools import partial
from random import Random

import numpy as np
import pytest
from halo_reference import own_of
from seed import SEED
from sweep_reference import laplace, swept

import pennympi
from pennympi.kernels.block import Elements, lanes, load, real, store
from pennympi.kernels.exchange import TABLE as FORMS
from pennympi.simulator.schedule import PLACES


def on_every_network(program, n_pes=4):
    """A test that runs a program of a team."""

    def test():
        for k in range(len(PLACES)):
            pennympi.simulate(program, n_pes, seed=f"{SEED}/{k}")

    return test


@on_every_network
def test_collectives_by_counts(team):
    n, me = team.n_pes, team.me
    counts = [k + 1 for k in range(n)]
    mine, whole = np.full(counts[me], float(me)), team.zeros(sum(counts))
    team.all_gatherv(mine, whole, counts)
    assert whole.tolist() == [float(k) for k in range(n) for _ in range(k + 1)]
    x, part = team.array(np.arange(sum(counts), dtype="float32")), np.zeros(counts[me], "float32")
    team.reduce_scatterv(x, part, counts)
    assert part.tolist() == [n * (sum(counts[:me]) + i) for i in range(counts[me])]


@on_every_network
def test_puts_and_gets_of_plain_arrays(team):
    n, me = team.n_pes, team.me
    x, y, z = np.arange(20_000.0) + me, team.zeros(20_000), np.zeros(20_000)
    team.put(y, x, (me + 1) % n)
    team.barrier()
    assert (y == np.arange(20_000.0) + (me - 1) % n).all()
    team.get(z, y, (me + 1) % n)
    assert (z == x).all()


@on_every_network
def test_random_puts_and_gets(team):
    """From and into symmetric and plain arrays, which are overwritten as soon as a call has ended."""
    n, me, random = team.n_pes, team.me, Random(SEED)
    inbox, words = team.zeros(600, "uint8"), team.signals(1)
    arrays = team.zeros(600, "uint8"), np.zeros(600, "uint8")
    for step in range(1, 9):
        call, nbytes, shift = random.choice(("put", "get", "put_signal")), random.randint(1, 600), random.randrange(n)
        x, there, after, before = random.choice(arrays)[:nbytes], inbox[:nbytes], (me + shift) % n, (me - shift) % n
        data = [(np.arange(nbytes) * 7 + 31 * pe + step) % 251 for pe in range(n)]
        (there if call == "get" else x)[:] = data[me]
        if call == "get":
            team.barrier()
            team.get(x, there, after)
            team.synchronize()
            assert (x == data[after]).all(), step
        elif call == "put":
            team.put(there, x, after)
            team.barrier()
        else:
            team.put_signal(there, x, words, step, after)
            team.wait_signal(words, step, source=before)
        team.synchronize()
        x[:] = 0
        assert call == "get" or (there == data[before]).all(), step
        team.barrier()
        team.synchronize()


@pytest.mark.parametrize("dtype", ("float16", "bfloat16", "float64", "int32", "uint8", "complex64", "bool"))
def test_ops(dtype):
    def program(team):
        n = team.n_pes
        for op, wanted in {"sum": n, "max": 1, "prod": 1, "avg": 1}.items():
            x = team.full(77, 1, dtype)
            try:
                team.allreduce(x, op=op)
            except (ValueError, pennympi.Unsupported):
                continue
            assert (x == np.asarray(wanted).astype(x.dtype)).all(), op

    on_every_network(program, 3)()


@on_every_network
def test_a_plan_and_a_residual(team):
    n, x, y = team.n_pes, team.full(64, 1.0, "float32"), team.zeros(64, "float32")
    team.allreduce(x, y, residual=team.full(64, 2.0, "float32"))
    assert (y == n + 2).all()
    plan = team.plan_allreduce(x, x)
    plan()
    plan()
    assert (x == n * n).all()


@pytest.mark.parametrize("form", FORMS)
def test_exchanges(form):
    def program(team):
        x, y = team.full(100, float(team.me)), team.zeros(100)
        for _ in range(3):
            team.exchange(y, x, team.me ^ 1, form=form)
            assert (y == team.me ^ 1).all()
            team.exchange(x, y, team.me ^ 1, form=form)

    on_every_network(program)()


def halve(ctx, v: Elements):
    for _ in lanes(0, 1):
        store(v, 0, load(v, 0) * real(0.5))


@partial(on_every_network, n_pes=2)
def test_a_loop(team):
    v, kernel = team.full(1, 1.0), team.kernel(halve)
    loop = team.plan_loop(lambda stream: kernel(1, v, stream=stream), v, 0.1, 50)
    loop()
    team.synchronize()
    assert (v[0], loop.runs[0]) == (0.0625, 4)


@on_every_network
def test_teams_of_rows(team):
    comm = team.comm.Split(team.me // 2, team.me)
    with pennympi.init(comm) as row:
        x = row.full(10, team.me)
        row.allreduce(x)
        assert (x == sum(pe for pe in range(team.n_pes) if pe // 2 == team.me // 2)).all()


def clipped(u, x_minus, x_plus):
    return u if u > x_minus else real(0.5) * (x_minus + x_plus)


@partial(on_every_network, n_pes=3)
def test_a_formula_with_a_condition(team):
    grid = team.grid((40,), periodic=True)
    u, v = grid.zeros("float64"), grid.zeros("float64")
    grid.interior(u)[...] = grid.coordinates()[0] % 7
    grid.plan_sweep(clipped, u, v, 3, norm=True)()
    whole = grid.gather(v)
    if team.me == 0:
        a = np.arange(40.0) % 7
        for _ in range(3):
            low, high = np.roll(a, 1), np.roll(a, -1)
            a = np.where(a > low, a, 0.5 * (low + high))
        assert (whole == a).all()


@pytest.mark.parametrize("dtype", ("float32", "float64"))
def test_sweeps_and_their_norms(dtype):
    """The same bits as NumPy: float32 changes are added as float64, as in compiled kernels."""
    whole = np.random.default_rng(3).uniform(-1, 1, (18, 26)).astype(dtype)
    field, norms = swept(laplace, whole, (True, True), 2)

    def program(team):
        grid = team.grid((16, 24), periodic=True)
        u, v = grid.zeros(dtype), grid.zeros(dtype)
        grid.interior(u)[...] = own_of(grid, whole[1:-1, 1:-1])
        plan = grid.plan_sweep(laplace, u, v, 2, norm="every")
        plan()
        team.synchronize()
        assert plan.norms.tolist() == norms.tolist() and (grid.interior(plan.newest) == own_of(grid, field)).all()

    on_every_network(program, 3)()
