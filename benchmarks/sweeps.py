"""Sweeps of a formula by the library's engines; on one PE also a copy of as many bytes, and NVIDIA's single_gpu.

    mpirun -np 2 python benchmarks/sweeps.py --output sweeps.json [--nvidia DIR]       DIR: see nvidia.py

On several PEs a row also has the time of a PE alone, with as many points and no neighbour, and the ratio of this time to
the time with neighbours ("hidden": 1 if all communication is hidden).  There are rows of weak scaling, with a part of
fixed size.  Every case is compared with CuPy's (or NumPy's) field, bit for bit, in the run that times it.  A time is the
difference between a long and a short call, so that constant costs of a call do not count.
"""

import math

import nvidia
from mpi4py import MPI
from rows import main, timed

import pennympi
from apps.heat3d.__main__ import step
from apps.jacobi.kernels import relaxed
from pennympi.bench.implementation import array_module
from pennympi.bench.setup import on_host

# case, points along a side, dtype, norm, engine, depth, sweeps of the short and of the long call
GPU = [
    *(("laplace", n, "float32", "every", "resident", None, 200, 2200) for n in (512, 1024, 2048)),
    *(("laplace", 1024 * n, "float32", norm, "blocked", None, 96, 992) for n in (1, 2, 4, 8) for norm in ("every", True)),
    *(("laplace", 16384, "float32", norm, "blocked", None, 16, 112) for norm in ("every", True)),
    *(("laplace", n, "float32", True, "plain", None, 16, 116) for n in (1024, 4096, 16384)),
    *(("heat", n, dtype, False, "plain", None, 10, 60) for n in (256, 512) for dtype in ("float32", "float64")),
    *(("heat", n, dtype, False, "blocked", 3, 12, 66) for n in (256, 512) for dtype in ("float32", "float64")),
    *(("heat", 128, dtype, "every", "blocked", 3, 198, 1200) for dtype in ("float32", "float64")),
]
CPU = [("laplace", 96, "float32", "every", engine, None, 4, 12) for engine in ("plain", "blocked", "resident")]
CPU += [("heat", 24, "float64", True, engine, None, 4, 12) for engine in ("plain", "blocked")]
WEAK_SIDES = (96, 512, 4096)  # points along a side of a part
CASES = {"laplace": (relaxed, (True, False)), "heat": (step, (False,) * 3)}  # {case: (formula, periodic)}


def reference(xp, u, periodic, sweeps):
    """The field (shape + 2) after some sweeps."""
    number, u = u.dtype.type, u.copy()
    for _ in range(sweeps):
        for d, wraps in enumerate(periodic):
            if wraps:
                ends = xp.moveaxis(u, d, 0)
                ends[0], ends[-1] = ends[-2].copy(), ends[1].copy()
        if u.ndim == 2:
            new = number(0.25) * (((u[1:-1, 2:] + u[1:-1, :-2]) + u[2:, 1:-1]) + u[:-2, 1:-1])
        else:
            x, y = u[:-2, 1:-1, 1:-1] + u[2:, 1:-1, 1:-1], u[1:-1, :-2, 1:-1] + u[1:-1, 2:, 1:-1]
            z, centre = u[1:-1, 1:-1, :-2] + u[1:-1, 1:-1, 2:], u[1:-1, 1:-1, 1:-1]
            new = number(0.125) * (((x + y) + z) + (centre + centre))
        u[(slice(1, -1),) * u.ndim] = new
    return u


def us_each(team, call, short, long):
    """us of one of the n equal parts of call(n), from calls of two lengths."""
    seconds = [timed(team, lambda n=n: call(n))[0] for n in (short, long)]
    return 1e6 * (seconds[1] - seconds[0]) / (long - short)


def measured(team, name, n, dtype, norm, engine, depth, short, long, weak=False):
    """The row of a case.  weak: n is the number of points along a side of a part, and not of the whole grid"""
    xp, (formula, periodic) = array_module(team), CASES[name]
    shape, row = (n,) * len(periodic), {"case": name, "n": n, "dtype": dtype, "norm": str(norm), "engine": engine}
    if weak:
        row["scaling"], shape = "weak", (n * team.n_pes, *shape[1:])
    ahead = engine == "blocked" and (name == "laplace" or team.n_pes > 1)
    dims = (0, *(1,) * (len(shape) - 1))  # as the solver: a pass hides the exchange of the first dimension best
    grid = team.grid(shape, dims, periodic, halo=(depth or 8) if ahead else 1)
    u, v = grid.zeros(dtype), grid.zeros(dtype)
    whole = xp.random.default_rng(1).random([points + 2 for points in shape], "float64").astype(dtype)
    inner = tuple(slice(h - 1, h + own + 1) for h, own in zip(grid.halo, grid.own, strict=True))
    own_part = tuple(slice(first, first + own + 2) for first, own in zip(grid.first, grid.own, strict=True))
    u[inner] = whole[own_part]
    v[inner] = whole[own_part]
    plans = {k: grid.plan_sweep(formula, u, v, k, norm=norm, engine=engine, depth=depth) for k in (short, long)}
    plans[short]()
    team.synchronize()
    expected = reference(xp, whole, periodic, short)[own_part][(slice(1, -1),) * len(shape)]
    wrong = team.comm.allreduce(int((grid.interior(plans[short].newest) != expected).sum()))
    del expected
    us = us_each(team, lambda k: plans[k](), short, long)
    row |= {"depth": plans[long].depth, "us": us, "GLUP_per_s": math.prod(shape) / us / 1e3, "wrong_points": wrong}
    own = grid.own
    plans.clear()
    for field in (u, v):
        team.free(field)
    if team.n_pes > 1:
        row["alone_us"] = alone(team, formula, own, dtype, norm, engine, row["depth"], (short, long))
        row["hidden"] = row["alone_us"] / us
    return row


def alone(team, formula, own, dtype, norm, engine, depth, counts):
    """us of a sweep if each PE sweeps as many points as its part has, without a neighbour."""
    with pennympi.init(MPI.COMM_SELF) as single:
        grid = single.grid(own, halo=depth if engine == "blocked" else 1)
        u, v = grid.zeros(dtype), grid.zeros(dtype)
        depth = depth if engine == "blocked" else None
        plans = {k: grid.plan_sweep(formula, u, v, k, norm=norm, engine=engine, depth=depth) for k in counts}

        def call(k):
            plans[k]()
            single.synchronize()

        return us_each(team, call, *counts)


def copied(team, n_dims, n, dtype):
    """The row of a copy of as many points."""
    xp = array_module(team)
    a, b = (xp.ones(n**n_dims, dtype) for _ in range(2))

    def copies(count):
        for _ in range(count):
            xp.copyto(b, a)

    us = us_each(team, copies, 10, 20)
    return {"case": "copy", "n": n, "dims": n_dims, "dtype": dtype, "us": us, "GB_per_s": 2 * a.nbytes / us / 1e3}


def all_rows(team):
    cases = CPU if on_host() else GPU
    weak = [case for case in cases if case[1] in WEAK_SIDES and case[4] != "resident"] if team.n_pes > 1 else []
    for case, is_weak in [*((case, False) for case in cases), *((case, True) for case in weak)]:
        try:
            yield measured(team, *case, is_weak)
        except pennympi.Unsupported as error:
            yield {"case": case[0], "n": case[1], "engine": case[4], "not_run": str(error)}
    if team.backend == "cuda" and team.n_pes == 1:
        yield from (copied(team, 3, n, dtype) for n in (256, 512) for dtype in ("float32", "float64"))


def nvidias(folder):
    for n in (1024, 2048, 4096):
        for name, us in nvidia.on_one(folder, n, 2000):
            yield {"case": name, "n": n, "dtype": "float32", "norm": "every", "us": us}


if __name__ == "__main__":
    main(__doc__, all_rows, nvidias)
