"""Plans of sweeps against NumPy, bit for bit: formulas, dimensions, PEs, engines, dtypes, sides, uneven parts."""

import numpy as np
import pytest
from halo_reference import own_of
from mpi4py import MPI
from on_device import to_numpy, write
from sweep_reference import FORMULAS, laplace, swept

import pennympi

pytestmark = [pytest.mark.mpi, pytest.mark.hosts(most_pes=8)]

N_PES = MPI.COMM_WORLD.size
SHAPES = {
    "1-D": (301,),
    "1-D with coefficient": (139,),
    "2-D": (37, 301),
    "2-D with coefficient": (41, 53),
    "3-D": (29, 17, 37),
    "3-D with all": (29, 11, 21),
}
ENGINES = {
    "plain": (1, 1),
    "blocked": (2, 2),
    "blocked deep": (4, 4),
    "resident": (1, 1),
    "resident deep": (3, 3),
    "auto": (3, None),
}  # halo, depth

# Each formula and dtype needs a kernel, and the resident engine another kernel.  1, 2 and 4 PEs share their kernels.
FEW = N_PES in (1, 2, 4)
RESIDENT = ("2-D", "2-D with coefficient") if FEW else ("1-D", "3-D with all")
TESTED = [(case, engine) for case in SHAPES for engine in ENGINES if engine[:5] in ("plain", "block") or case in RESIDENT]


def dtype_of(case):
    """The dtype of a case: its formula's dtype, or at some numbers of PEs the other float dtype."""
    usual = FORMULAS[case].dtype
    return usual if FEW else {"float32": "float64", "float64": "float32"}[usual]


def start_of(shape, dtype, seed):
    """The whole grid (shape + 2) with its fixed points, and a coefficient (shape), the same on every PE."""
    rng = np.random.default_rng(seed)
    return rng.uniform(-1, 1, [n + 2 for n in shape]).astype(dtype), rng.uniform(0.5, 1, shape).astype(dtype)


def fill(grid, array, whole):
    """Set a field to this PE's points of the whole grid (shape + 2), with the fixed points beyond the grid's ends."""
    own, h = np.zeros(grid.local, whole.dtype), np.array(grid.halo)
    low = np.where(np.array(grid.first) == 0, 1, 0)
    end = np.array(grid.first) + np.array(grid.own)
    high = np.where(end == np.array(grid.shape), 1, 0)
    in_part = tuple(slice(hh - a, hh + n + b) for hh, n, a, b in zip(h, grid.own, low, high, strict=True))
    in_whole = tuple(slice(f + 1 - a, e + 1 + b) for f, e, a, b in zip(grid.first, end, low, high, strict=True))
    own[in_part] = whole[in_whole]
    write(array, own)


def check(team, case, periodic, engine, sweeps, norm="every"):
    formula, shape, dtype, (halo, depth) = FORMULAS[case], SHAPES[case], dtype_of(case), ENGINES[engine]
    numbers = formula.numbers
    if team.backend == "cuda" and "resident" in engine and len(shape) != 2:
        pytest.skip("on GPUs the resident engine is for grids of two dimensions")
    if team.backend == "cuda" and len(shape) == 3 and depth:
        depth = min(depth, 3)
    grid = team.grid(shape, periodic=periodic, halo=halo)
    whole, kappa = start_of(shape, dtype, sweeps)
    u, v = grid.zeros(dtype), grid.zeros(dtype)
    coefficient = grid.zeros(dtype) if numbers else None
    if numbers:
        fill(grid, coefficient, np.pad(kappa, 1))
    plan = grid.plan_sweep(
        formula.step, u, v, sweeps, norm=norm, args=numbers, fields=(coefficient,) if numbers else (),
        engine=engine.split()[0], depth=depth,
    )  # fmt: skip
    for _ in range(2):  # each call begins from u
        fill(grid, u, whole)
        fill(grid, v, whole)
        team.barrier()
        plan()
    sides = (periodic,) * len(shape) if isinstance(periodic, bool) else periodic
    right, norms = swept(formula.step, whole, sides, sweeps, numbers, kappa if numbers else None)
    result = to_numpy(plan.newest)[tuple(slice(h, h + n) for h, n in zip(grid.halo, grid.own, strict=True))]
    team.synchronize()
    wrong = np.argwhere(result.view(f"u{result.itemsize}") != own_of(grid, right).view(f"u{result.itemsize}"))
    right_norms = {"every": norms.tolist(), True: norms[-1:].tolist(), False: []}[norm]
    norms_of_plan = {"every": plan.norms, True: plan.norm, False: np.zeros(0)}[norm]
    by_pe = team.gather((len(wrong), wrong[:3].tolist(), to_numpy(norms_of_plan).tolist() == right_norms))
    assert all(n == 0 and same for n, _, same in by_pe), (grid, by_pe, right_norms, norms_of_plan)
    assert not norm or to_numpy(plan.norm) == norms[-1:]
    del plan
    for array in filter(lambda field: field is not None, (u, v, coefficient)):
        team.free(array)


@pytest.mark.parametrize("periodic", [False, True])
@pytest.mark.parametrize(("case", "engine"), TESTED)
def test_same_bits_as_numpy(team, case, periodic, engine):
    check(team, case, periodic, engine, 7)


@pytest.mark.parametrize(("sweeps", "norm"), [(1, "every"), (2, True), (70, False), (70, "every")])
@pytest.mark.parametrize("engine", ENGINES)
def test_sweeps_and_norms(team, engine, sweeps, norm):
    check(team, "2-D", (True, False), engine, sweeps, norm)


@pytest.mark.usefixtures("with_streams")
@pytest.mark.parametrize("engine", ["plain", "blocked", "resident"])
def test_many_calls(team, engine):
    """A plan gives the right bits in each of 300 calls, which alternate between two starts."""
    shape, periodic, sweeps = (96, 264), (True, False), 37
    grid = team.grid(shape, dims=(0, 1), periodic=periodic, halo=2)
    u, v = grid.zeros("float32"), grid.zeros("float32")
    plan = grid.plan_sweep(laplace, u, v, sweeps, norm="every", engine=engine, depth=1 if engine == "plain" else 2)
    starts = [np.pad(start_of(shape, "float32", seed)[0][1:-1, 1:-1], 1) for seed in range(2)]
    rights = [own_of(grid, swept(laplace, start, periodic, sweeps)[0]).tobytes() for start in starts]
    norms = set()
    for k in range(300):
        fill(grid, u, starts[k % 2])
        team.barrier()
        plan()
        assert grid.interior(to_numpy(plan.newest)).tobytes() == rights[k % 2], k
        norms.add((k % 2, to_numpy(plan.norms).tobytes()))
    assert len(norms) == 2


def test_errors_name_the_remedy(team):
    grid = team.grid((24, 24), halo=2)
    larger = team.grid((30 * team.n_pes, 24), halo=2)  # its parts differ from those of ``grid`` on every PE
    u, v, k, d = (grid.zeros(dtype) for dtype in ("float32", "float32", "float32", "float64"))
    w = larger.zeros("float32")

    def with_one_neighbour(u, x_minus):
        return u + x_minus

    def wrong(u, x_minus, x_plus, y_minus, y_plus):
        return u.nothing + y_plus

    mistakes = [
        ((with_one_neighbour, u, v, 3), {}, TypeError, "must take 5 parameters"),
        ((laplace, u, u, 3), {}, ValueError, "different arrays"),
        ((laplace, u, w, 3), {}, ValueError, "shape"),
        ((laplace, u, d, 3), {}, ValueError, "one dtype"),
        ((laplace, u, v, 0), {}, ValueError, "at least 1"),
        ((laplace, u, v, 3), {"norm": "all"}, ValueError, "norm must be"),
        ((laplace, u, v, 3), {"engine": "fast"}, ValueError, "engine must be"),
        ((laplace, u, v, 3), {"fields": (k,)}, TypeError, "coefficient"),
        ((laplace, u, v, 3), {"engine": "blocked", "depth": 1}, pennympi.Unsupported, "plain engine: give a larger"),
        ((wrong, u, v, 3), {}, TypeError, "test_plan_sweep.py"),
    ]
    if team.n_pes > 1:
        mistakes.append(((laplace, u, v, 8), {"engine": "blocked", "depth": 4}, ValueError, "halo=4"))
        if team.backend != "cuda":
            mistakes.append(((laplace, u, v, 8), {"engine": "resident", "depth": 4}, pennympi.Unsupported, "halo=4"))
    for args, options, kind, text in mistakes:
        with pytest.raises(kind, match=text):
            grid.plan_sweep(*args, **options)
    narrow = team.grid((24, 6 * team.n_pes + 1), dims=(1, team.n_pes))
    a, b = narrow.zeros("float32"), narrow.zeros("float32")
    if team.n_pes > 1:
        with pytest.raises(ValueError, match=r"multiples of 8 points.* dims=.*fewer PEs, or norm=False"):
            narrow.plan_sweep(laplace, a, b, 3, norm=True)
    narrow.plan_sweep(laplace, a, b, 3)()
    plan = grid.plan_sweep(laplace, u, v, 3)
    assert "plain" in plan.explain()
    plan()
    for field in (u, v, k, d, w, a, b):
        team.free(field)
    with pytest.raises(ValueError, match="freed"):
        plan()
    with pytest.raises(pennympi.Unsupported, match="float32 or float64"):
        grid.plan_sweep(laplace, grid.zeros("int32"), grid.zeros("int32"), 3)
