"""allreduce with an RMSNorm: totals and norms against float64, by every algorithm; plans; an error for a wrong call."""

import gc

import numpy as np
import pytest
from mpi4py import MPI
from on_device import device, same, to_numpy, write

from pennympi import CollectiveMismatchError, RMSNorm, Unsupported, init
from pennympi.arrays.dtypes import NORMED
from pennympi.arrays.dtypes import TABLE as DTYPES
from pennympi.kernels.algorithm import Limits, Place
from pennympi.kernels.allreduce_norm import TABLE
from pennympi.kernels.allreduce_norm import rows as shares
from pennympi.kernels.records import Norm, Reduction
from pennympi.selection.thresholds import one_or_two_hops

pytestmark = [pytest.mark.mpi, pytest.mark.hosts(most_pes=8)]

EPS = 1e-5
SHAPES = [(3, 1), (6, 7), (0, 64), (138, 64), (41, 100), (2, 5, 100), (6, 4096), (3, 5120), (1, 6144), (6144,)]
SHAPES += [(2, 16384)]
GUARD, CANARY = 16, 0x5A
# Bits of a significand, and the exponent of the smallest number.
PRECISION = {"float16": (11, -24), "bfloat16": (8, -133), "float32": (24, -149)}
# Beside the last rounding: of the sums, which are float32, and of the norm, in units of its result.
PARTIAL, NORM_ERROR = 2.0**-24, {"float16": 2.0**-19, "bfloat16": 2.0**-19, "float32": 2.0**-45}


def half_ulp(name, values):
    """(...) the most by which a float64 changes when it is rounded to a dtype."""
    bits, least = PRECISION[name]
    return np.exp2(np.maximum(np.frexp(values)[1] - bits, least) - 1.0)


def given(name, shape, pe, number):
    """Random elements of PE ``pe``, or, for -1, of all."""
    numbers = np.random.default_rng((number, pe + 1)).standard_normal(shape)
    return (numbers * 2.0 ** (number % 7 - 3)).astype(DTYPES[name].numpy)


def errors(name, op, x, residual, weight, found):
    """What is wrong with the totals and norms that were ``found``: x and residual are what was given by all PEs."""
    total, normed = (to_numpy(one).astype(np.float64) for one in found)
    terms = [one.astype(np.float64) for one in x]
    parts, sizes, rest = sum(terms), sum(map(abs, terms)), residual.astype(np.float64)
    if op == "mean":
        parts, sizes = parts / len(x), sizes / len(x)
    exact = parts + rest
    allowed = half_ulp(name, exact) + PARTIAL * (len(x) + 1) * (sizes + abs(rest))
    wrong = [("total", float(abs(total - exact).max()))] if (abs(total - exact) > allowed).any() else []
    exact = total * weight.astype(np.float64) / np.sqrt((total * total).mean(-1, keepdims=True) + EPS)
    allowed = half_ulp(name, exact) + NORM_ERROR[name] * abs(exact)
    return wrong + ([("norm", float(abs(normed - exact).max()))] if (abs(normed - exact) > allowed).any() else [])


def runs(team, algorithm):
    return not TABLE[algorithm].refuse(team.place, "float32", "sum")


@pytest.mark.parametrize("algorithm", TABLE)
@pytest.mark.parametrize("name", NORMED)
def test_against_float64(team, algorithm, name):
    """Totals and norms within one rounding, the same bits on every PE, and nothing else written; in place or not, at any
    alignment, which is another one on each PE."""
    if not runs(team, algorithm):
        pytest.skip("refused here")
    most = max(int(np.prod(shape)) for shape in SHAPES) * DTYPES[name].item_bytes + 2 * GUARD
    whole = [team.empty(most, "uint8"), *(device(team, np.zeros(most, np.uint8)) for _ in range(3))]
    wrong = []
    for number, shape in enumerate(SHAPES):
        op, in_place = ("sum", "mean")[number % 2], number % 3 == 0
        shift = (0, 0, DTYPES[name].item_bytes * (1 + team.me % 3), 1 + team.me)[number % 4] % 16
        x, rest = [given(name, shape, pe, number) for pe in range(team.n_pes)], given(name, shape, -1, number)
        weight = given(name, shape[-1:], -1, number + 100)
        values = x[team.me], rest, weight, np.zeros_like(rest)
        arrays = [placed(memory, shift, one) for memory, one in zip(whole, values, strict=True)]
        src, residual, scale, out = arrays
        named = {"residual": residual, "norm": RMSNorm(scale, EPS)}
        result = team.allreduce(src, None if in_place else out, op, algorithm, **named)
        assert result[0] is (src if in_place else out) and result[1] is residual
        if rest.size:
            wrong += [(shape, op, *one) for one in errors(name, op, x, rest, weight, (residual, result[0]))]
        assert same(scale, weight) and (in_place or same(src, x[team.me]))
        outside = [beside(memory, shift, one.nbytes) for memory, one in zip(whole, values, strict=True)]
        wrong += [(shape, "beside")] if any(outside) else []
    everywhere = MPI.COMM_WORLD.allgather(wrong)
    assert not any(everywhere), everywhere
    team.free(whole[0])


@pytest.mark.parametrize("algorithm", TABLE)
def test_the_same_bits_everywhere(team, algorithm):
    """Whatever the alignment, which is another one on each PE."""
    if not runs(team, algorithm):
        pytest.skip("refused here")
    found = []
    for name in NORMED:
        weight, rest = given(name, (6144,), -1, 1), given(name, (5, 6144), -1, 2)
        out, residual = (device(team, np.zeros(rest.nbytes + GUARD, np.uint8)) for _ in range(2))
        x, scale = device(team, given(name, rest.shape, team.me, 3)), device(team, weight)
        out, residual = (
            one[16 * (team.me % 2) :][: rest.nbytes].view(rest.dtype).reshape(rest.shape) for one in (out, residual)
        )
        write(residual, rest)
        team.allreduce(x, out, algorithm=algorithm, residual=residual, norm=RMSNorm(scale))
        found += [to_numpy(out).tobytes(), to_numpy(residual).tobytes()]
    everywhere = MPI.COMM_WORLD.allgather(found)
    assert everywhere == [found] * team.n_pes


def placed(whole, shift, values):
    """An array of these values that starts ``shift`` bytes past a multiple of 16, among canaries."""
    write(whole, np.full(whole.size, CANARY))
    at, array = GUARD + shift, type(whole)
    x = array(values.shape, values.dtype, whole[at:] if array is np.ndarray else whole.data + at)
    write(x, values)
    return x


def beside(whole, shift, nbytes):
    """Whether anything but the array was written."""
    found, at = to_numpy(whole), GUARD + shift
    return (found[:at] != CANARY).any() or (found[at + nbytes :] != CANARY).any()


def test_plans(team):
    """A plan takes what the arrays hold when it is called, and keeps its weight alive; MPI.IN_PLACE is x."""
    name, shape, n = "float32", (4, 96), team.n_pes
    x, out, residual = (device(team, np.zeros(shape, np.float32)) for _ in range(3))
    weight = team.empty(96, "float32")
    write(weight, given(name, (96,), -1, 7))
    scale = to_numpy(weight)
    plan = team.plan_allreduce(x, out, residual=residual, norm=RMSNorm(weight, EPS))
    own = team.plan_allreduce(MPI.IN_PLACE, x, "mean", residual=residual, norm=RMSNorm(weight, EPS), sms=2)
    del weight
    gc.collect()
    for number, one, result, op in ((1, plan, out, "sum"), (2, own, x, "mean"), (3, plan, out, "sum")):
        every, rest = [given(name, shape, pe, number) for pe in range(n)], given(name, shape, -1, number)
        write(x, every[team.me]), write(residual, rest)
        one()
        assert not errors(name, op, every, rest, scale, (residual, result))
    assert "RMSNorm of rows of 96, eps 1e-05" in plan.__name__ and "with a residual" in plan.__name__


def test_rows_of_many_blocks_and_of_none(team):
    """auto, x that is the residual, and no rows."""
    weight = device(team, given("bfloat16", (256,), -1, 5))
    for rows in (0, 300):
        x = device(team, given("bfloat16", (rows, 256), -1, 6))
        before, out = to_numpy(x), device(team, np.zeros((rows, 256), x.dtype))
        found = team.allreduce(x, out, residual=x, norm=RMSNorm(weight, EPS))
        assert found[0] is out and found[1] is x
        assert not rows or not errors("bfloat16", "sum", [before] * team.n_pes, before, to_numpy(weight), (x, out))


def test_refused(team, monkeypatch):
    x, out, rest = (device(team, np.ones((4, 8), np.float32)) for _ in range(3))
    weight = device(team, np.ones(8, np.float32))
    wide, integers = device(team, np.ones((4, 8))), device(team, np.ones((4, 8), np.int32))
    right = {"residual": rest, "norm": RMSNorm(weight)}
    refused = (
        ((x, out), {"norm": RMSNorm(weight)}, ValueError, "pass residual=r"),
        ((x, out), right | {"residual": rest[:2]}, ValueError, "must be alike"),
        ((x, out), right | {"residual": wide}, ValueError, "must be alike"),
        ((x, out), right | {"norm": weight}, TypeError, "pass norm=pennympi.RMSNorm"),
        ((x, out), right | {"norm": RMSNorm(3)}, TypeError, "is not a"),
        ((x, out), right | {"norm": RMSNorm(wide[0])}, ValueError, "weight is of float64 and x of float32: convert"),
        ((x, out), right | {"norm": RMSNorm(weight[:4])}, ValueError, "last dimension of x must be that of weight"),
        ((x.reshape(-1), out), right, ValueError, "last dimension of x must be that of weight"),
        ((x, out), right | {"norm": RMSNorm(weight[:0])}, ValueError, "weight has 0 elements"),
        ((x, out, "max"), right, ValueError, "use sum or mean"),
        ((wide,), {"residual": wide, "norm": RMSNorm(wide[0])}, Unsupported, "convert the arrays to one of float16"),
        ((integers,), {"residual": integers, "norm": RMSNorm(integers[0])}, Unsupported, "there is no norm of int32"),
        ((x, rest), right, ValueError, "out and residual overlap"),
        ((x,), right | {"residual": x}, ValueError, "out and residual overlap"),
        ((x[:2], out[:2]), right | {"residual": x.reshape(-1)[8:24].reshape(2, 8)}, ValueError, "pass residual=x"),
        ((x, out), right | {"norm": RMSNorm(out[0])}, ValueError, "weight and out overlap.*copy of the weight"),
        ((x, out), right | {"norm": RMSNorm(rest[1])}, ValueError, "weight and residual overlap"),
        ((x, out, "sum", "ring"), right, Unsupported, "ring has no norm: use .*one_shot_packets"),
        ((x, out, "sum", "two_shot_direct"), right, Unsupported, "two_shot_direct has no norm"),
        ((x, out, "sum", "rings"), right, ValueError, "algorithm 'rings' is unknown: use auto, one_shot"),
    )
    for call in (team.allreduce, team.plan_allreduce):
        for args, named, error, match in refused:
            with pytest.raises(error, match=match):
                call(*args, **named)
    with pytest.raises(TypeError, match="norm are for arrays"):
        team.allreduce(3.0, **right)
    long = device(team, np.ones(16385, np.float32))
    with pytest.raises(ValueError, match="16385 elements"):
        team.allreduce(long, residual=long, norm=RMSNorm(long))
    for eps, error in (("no", TypeError), (None, TypeError), (-1e-6, ValueError), (np.nan, ValueError)):
        with pytest.raises(error, match="eps"):
            RMSNorm(weight, eps)
    monkeypatch.setenv("PENNYMPI_ALLREDUCE", "ring")
    with pytest.raises(Unsupported, match="ring has no norm"):
        team.plan_allreduce(x, out, **right)
    monkeypatch.delenv("PENNYMPI_ALLREDUCE")
    assert same(rest, np.ones((4, 8))) and same(out, np.ones((4, 8)))
    team.allreduce(x, out, **right)
    assert same(rest, np.full((4, 8), team.n_pes + 1)) and np.allclose(to_numpy(out), 1, atol=1e-6)


def test_another_eps_is_another_call(team, monkeypatch):
    if team.n_pes == 1:
        pytest.skip("one PE can't disagree")
    monkeypatch.setenv("PENNYMPI_DEBUG", "1")
    x, rest, weight = (device(team, np.ones(8, np.float32)) for _ in range(3))
    with init() as careful, pytest.raises(CollectiveMismatchError, match="eps 0.5"):
        careful.allreduce(x, residual=rest, norm=RMSNorm(weight, 0.5 if careful.me else 1e-6))


@pytest.mark.parametrize(
    ("place", "nbytes", "name"),
    [
        (Place((0, 0)), 1 << 30, "one_shot_packets"),
        (Place((0,) * 4), 256 << 10, "one_shot_packets"),
        (Place((0,) * 4), 1 << 20, "two_shot_packets"),
        (Place((0,) * 8), 64 << 10, "one_shot_packets"),
        (Place((0,) * 8), 256 << 10, "two_shot_packets"),
        (Place((0, 0), packets=False), 1 << 10, "one_shot"),
        (Place((0, 1), ll128_safe=False), 1 << 10, "one_shot"),
        (Place((0,) * 300), 1 << 10, "one_shot"),
    ],
)
def test_choice(place, nbytes, name):
    assert one_or_two_hops(place, nbytes) == name
    assert not TABLE[name].refuse(place, "bfloat16", "sum")


@pytest.mark.parametrize(
    ("n_rows", "row_elems", "cluster"),
    [(1, 6144, 8), (16, 6144, 8), (17, 6144, 4), (33, 6144, 1), (6, 2880, 4), (6, 6140, 1), (6, 1024, 1), (2, 16384, 8)],
)
def test_a_row_for_a_cluster(monkeypatch, n_rows, row_elems, cluster):
    """Few rows are cut into parts, which meet the weights of their elements."""
    called, item_bytes, count = [], 2, n_rows * row_elems
    monkeypatch.setattr(shares, "rms_norm", lambda ctx, *args: called.append(args))
    plan = TABLE["one_shot_packets"].plan(count, item_bytes, 4, Place((0, 0)), Limits(132, 256 << 10, row_elems, 8))
    assert (plan.blocks, plan.cluster, plan.share_elems * cluster) == (n_rows * cluster, cluster, row_elems)
    norm = Norm(weight=1 << 40, row_elems=row_elems, share_elems=plan.share_elems, eps_bits=7)
    call = Reduction(1 << 30, 2 << 30, count, plan.piece_elems, item_bytes, 4, 3 << 30, 0)
    for start in range(0, count, plan.share_elems):
        share = shares.share_from(call, norm, start)
        shares.normalise(0, call, share, norm, start)
    starts = [(out - call.out) // item_bytes for out, *_ in called]
    assert starts == list(range(0, count, plan.share_elems))
    for start, (out, total, weight, n_elems, *rest) in zip(starts, called, strict=True):
        assert total - call.residual == out - call.out and n_elems == plan.share_elems and rest == [row_elems, 7]
        assert weight - norm.weight == start % row_elems * item_bytes
