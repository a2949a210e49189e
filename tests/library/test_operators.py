"""The ops of each element type: mean, complex numbers, bools; and collectives that move these types."""

import numpy as np
import pytest
from mpi4py import MPI
from on_device import device, same, to_numpy
from refused import refused

from pennympi import Unsupported
from pennympi.arrays.dtypes import TABLE
from pennympi.arrays.operators import too_many_pes

pytestmark = pytest.mark.mpi

MOVED = ("complex64", "complex128", "bool")
ROWS = 5  # elements of a PE's part


def input_of(name, pe, count):
    """The input of a PE: small numbers, whose sums are exact in every order."""
    values = np.random.default_rng(pe).integers(-8, 9, 2 * count)
    return values[:count] > 0 if name == "bool" else (values[:count] + 1j * values[count:]).astype(name)


def from_all(team, name, op, count):
    """NumPy's result of an op over the inputs of all PEs."""
    every = np.stack([input_of(name, pe, count) for pe in range(team.n_pes)])
    if name == "bool":
        return (np.logical_and if op in ("min", MPI.LAND) else np.logical_or).reduce(every)
    total = every.sum(0)
    floats = total.view(total.real.dtype)  # division as of floats, by parts
    return (floats / floats.dtype.type(team.n_pes if op in ("mean", "avg") else 1)).view(name)


def ops_of(name):
    return ("min", "max", MPI.LAND, MPI.LOR, MPI.MIN) if name == "bool" else ("sum", "mean", "avg", MPI.SUM)


@pytest.mark.parametrize("name", MOVED)
def test_reductions(team, name):
    count, me = team.n_pes * ROWS, team.me
    for op in ops_of(name):
        wanted = from_all(team, name, "min" if op == MPI.MIN else op, count)
        x, out, part = (device(team, np.zeros(n, name)) for n in (count, count, ROWS))
        x[...] = device(team, input_of(name, me, count))
        team.allreduce(x, out, op)
        team.reduce_scatter(x, part, op)
        assert same(out, wanted) and same(part, wanted[me * ROWS : (me + 1) * ROWS])
        reduced = team.reduce(x, device(team, np.zeros(count, name)), op, root=team.n_pes - 1)
        assert same(reduced, wanted) if me == team.n_pes - 1 else reduced is None
        plan = team.plan_allreduce(x, op=op)
        plan()
        assert same(x, wanted)


@pytest.mark.parametrize("name", MOVED)
def test_movement(team, name):
    n, me, count = team.n_pes, team.me, team.n_pes * ROWS
    x, every = device(team, input_of(name, me, count)), [input_of(name, pe, count) for pe in range(n)]
    assert same(team.all_gather(x), np.concatenate(every))
    parts = [one[me * ROWS : (me + 1) * ROWS] for one in every]
    assert same(team.all_to_all(x, device(team, np.zeros(count, name))), np.concatenate(parts))
    assert same(team.broadcast(device(team, every[me]), root=n - 1), every[n - 1])
    there, back = team.array(np.zeros(count, name)), device(team, np.zeros(count, name))
    assert there.dtype == name
    team.put(there, x, (me + 1) % n)
    team.barrier()
    team.get(back, there, (me + 1) % n)
    team.synchronize()
    assert same(there, every[me - 1]) and same(back, every[me])
    partner = me ^ 1 if me ^ 1 < n else me
    team.exchange(back, x, partner)
    team.synchronize()
    assert same(back, every[partner])


def test_new_arrays_of_complex_numbers_and_bools(team):
    for name, value in (("complex64", 1 - 2j), ("complex128", 2), ("bool", True)):
        x = team.full(7, value, name)
        assert x.dtype == name and same(x, np.full(7, value, name))
    refused(TypeError, "not a real number", team.full, 3, 1j, "float32")
    for name in MOVED:
        refused(Unsupported, "a kernel has no elements", team.kernel, lambda ctx: None, name)


@pytest.mark.parametrize("name", ["float16", "float32", "float64"])
def test_mean_is_avg(team, name):
    """The sum, divided by the number of PEs in the type of the sum, then rounded once."""
    mine = (np.arange(40) * 3 + team.me).astype(name)
    partial = np.float32 if name == "float16" else np.dtype(name)
    total = sum((np.arange(40) * 3 + pe).astype(partial) for pe in range(team.n_pes))
    wanted = (total / np.dtype(partial).type(team.n_pes)).astype(name)
    for op in ("mean", "avg"):
        assert same(team.allreduce(device(team, mine), op=op), wanted)
    assert team.explain(1024, name, "mean").algorithm == team.explain(1024, name, "avg").algorithm


@pytest.mark.parametrize("name", ["int8", "uint8", "int64"])
def test_averages_of_integers(team, name):
    """No sum overflows: the largest and the smallest numbers, and others; quotients are truncated toward zero."""
    n, me, limits = team.n_pes, team.me, np.iinfo(name)

    def of_pe(pe):
        some = np.random.default_rng(pe).integers(limits.min, limits.max, 30 * n, name, endpoint=True)
        return np.concatenate([np.full(2 * n, limits.max), np.full(2 * n, limits.min), some]).astype(name)

    total = sum(of_pe(pe).astype(object) for pe in range(n))
    wanted = (np.sign(total) * (abs(total) // n)).astype(name)
    x, part = device(team, of_pe(me)), device(team, np.zeros(34, name))
    for algorithm in ("auto", "ring", "one_shot_packets"):
        out = device(team, np.zeros(34 * n, name))
        assert same(team.allreduce(x, out, "avg", algorithm), wanted)
    assert same(team.reduce_scatter(x, part, "avg"), wanted[34 * me : 34 * (me + 1)])
    reduced = team.reduce(x, device(team, np.zeros(34 * n, name)), "avg", root=n - 1)
    assert same(reduced, wanted) if me == n - 1 else reduced is None
    assert too_many_pes("avg", TABLE[name], 256) == "" == too_many_pes("sum", TABLE[name], 300)
    assert ("convert the array to a wider type" in too_many_pes("avg", TABLE[name], 257)) == (name != "int64")


def test_ops_without_a_meaning(team):
    """Ops are refused before anything is sent, with what to use instead."""
    n = team.n_pes
    for name, ops, remedy in (
        ("complex64", ("min", "max", "prod", MPI.PROD), "use sum or mean"),
        ("bool", ("sum", "mean", "prod", MPI.SUM), "logical and"),
        ("int32", ("mean",), "use avg, which truncates toward zero"),
        ("uint8", ("mean",), "convert to floats"),
        ("complex64", (MPI.LAND, "summ"), "use one of sum, prod, min, max, avg, mean"),
        ("float32", (MPI.LOR, ["sum"]), "use one of sum, prod, min, max, avg, mean"),
    ):
        x, out = device(team, np.ones(n, name)), device(team, np.zeros(1, name))
        for op in ops:
            for call, *arrays in ((team.allreduce, x), (team.reduce, x), (team.reduce_scatter, x, out)):
                refused(ValueError, remedy, call, *arrays, op=op)
        assert same(x, np.ones(n, name)) and same(out, np.zeros(1, name))
    x = device(team, np.ones(3, np.int32))
    assert to_numpy(team.allreduce(x, op="avg")).tolist() == [1, 1, 1]


def test_residual(team):
    x, more = device(team, np.full(9, 1 + 1j, np.complex64)), device(team, np.full(9, 1j * team.me, np.complex64))
    wanted = np.full(9, team.n_pes * (1 + 1j) + 1j * team.me, np.complex64)
    assert same(team.allreduce(x, residual=more), wanted)
    refused(ValueError, "must be alike", team.allreduce, x, residual=device(team, np.ones(18, np.float32)))
    bools = device(team, np.ones(9, bool))
    refused(ValueError, "bools have no sum", team.allreduce, bools, op="max", residual=bools)
