"""Sweeps of a formula by the library's engines; on one PE beside a copy of as many bytes and NVIDIA's single_gpu.

    mpirun -np 2 python benchmarks/sweeps.py --output sweeps.json [--nvidia DIR] [--only TEXT]       DIR: see nvidia.py

Every case is compared with CuPy's (or NumPy's) field, bit for bit, in the run that times it.  A time is the median of
RUNS calls on the slowest PE, by the difference of a long call and a short one, so that what a call costs once is not
counted.
"""

import argparse
import math
import platform
import time

import numpy as np
import nvidia
import rows
from launching import run
from mpi4py import MPI

import pennympi
from pennympi.kernels.block import real

RUNS, LIMIT_S = 5, 60.0


def laplace(here, south, north, west, east):
    return real(0.25) * (((east + west) + north) + south)


def heat(here, before, after, above, below, left, right):
    return real(0.125) * ((((before + after) + (above + below)) + (left + right)) + (here + here))


# formula, points along a side, dtype, norm, engine, depth, sweeps of the short and of the long call
RING = (True, False)
CASES = [
    *((laplace, n, "float32", "every", "resident", None, 200, 2200) for n in (512, 1024, 2048)),
    *((laplace, n, "float32", norm, "blocked", None, 96, 992) for n in (1024, 2048, 4096) for norm in ("every", True)),
    *((laplace, 16384, "float32", norm, "blocked", None, 16, 112) for norm in ("every", True)),
    *((laplace, n, "float32", True, "plain", None, 16, 116) for n in (1024, 4096, 16384)),
    *((heat, n, dtype, False, "plain", None, 10, 60) for n in (256, 512) for dtype in ("float32", "float64")),
    *((heat, n, dtype, False, "blocked", 3, 12, 66) for n in (256, 512) for dtype in ("float32", "float64")),
    *((heat, 128, dtype, "every", "blocked", 3, 198, 1200) for dtype in ("float32", "float64")),
]
SMALL = [(laplace, 96, "float32", "every", e, None, 4, 12) for e in ("plain", "blocked", "resident")]
SMALL += [(heat, 24, "float64", True, e, None, 4, 12) for e in ("plain", "blocked")]


def reference(xp, formula, u, periodic, sweeps):
    """The field (shape + 2) after some sweeps."""
    number = u.dtype.type
    u = u.copy()
    for _ in range(sweeps):
        for d, wraps in enumerate(periodic):
            if wraps:
                ends = xp.moveaxis(u, d, 0)
                ends[0], ends[-1] = ends[-2].copy(), ends[1].copy()
        if formula is laplace:
            new = number(0.25) * (((u[1:-1, 2:] + u[1:-1, :-2]) + u[2:, 1:-1]) + u[:-2, 1:-1])
        else:
            x, y = u[:-2, 1:-1, 1:-1] + u[2:, 1:-1, 1:-1], u[1:-1, :-2, 1:-1] + u[1:-1, 2:, 1:-1]
            z, here = u[1:-1, 1:-1, :-2] + u[1:-1, 1:-1, 2:], u[1:-1, 1:-1, 1:-1]
            new = number(0.125) * (((x + y) + z) + (here + here))
        u[(slice(1, -1),) * u.ndim] = new
    return u


def seconds(team, call):
    """Seconds of a call on the device, of the slowest PE."""
    team.comm.Barrier()
    return team.comm.allreduce(seconds_here(team, call), op=MPI.MAX)


def seconds_here(team, call):
    """Seconds of a call on this PE's device."""
    if team.backend == "host":
        begin = time.perf_counter()
        call(None)
        return time.perf_counter() - begin
    import cupy

    stream = team.stream()
    start, stop = cupy.cuda.Event(), cupy.cuda.Event()
    start.record(stream)
    call(stream)
    stop.record(stream)
    stop.synchronize()
    return cupy.cuda.get_elapsed_time(start, stop) / 1e3


def measured(team, xp, case):
    """The row of a case."""
    formula, n, dtype, norm, engine, depth, short, long = case
    shape, periodic = ((n, n), RING) if formula is laplace else ((n, n, n), (False,) * 3)
    ahead = engine == "blocked" and (formula is laplace or team.n_pes > 1)
    grid = team.grid(shape, periodic=periodic, halo=(depth or 8) if ahead else 1)
    u, v = grid.zeros(dtype), grid.zeros(dtype)
    whole = xp.random.default_rng(1).random([points + 2 for points in shape], "float64").astype(dtype)
    inner = tuple(slice(h - 1, h + own + 1) for h, own in zip(grid.halo, grid.own, strict=True))
    here = tuple(slice(first, first + own + 2) for first, own in zip(grid.first, grid.own, strict=True))
    u[inner] = whole[here]
    v[inner] = whole[here]
    plans = {k: grid.plan_sweep(formula, u, v, k, norm=norm, engine=engine, depth=depth) for k in (short, long)}
    plans[short]()
    team.synchronize()
    right = reference(xp, formula, whole, periodic, short)[here][(slice(1, -1),) * len(shape)]
    wrong = team.comm.allreduce(int((grid.interior(plans[short].newest) != right).sum()))
    del right
    times = {k: [seconds(team, plans[k]) for _ in range(RUNS + 1)][1:] for k in (short, long)}
    us = 1e6 * (float(np.median(times[long])) - float(np.median(times[short]))) / (long - short)
    row = {"case": formula.__name__, "n": n, "dtype": dtype, "norm": str(norm), "engine": engine}
    row |= {"depth": plans[long].depth, "us": us, "GLUP_per_s": math.prod(shape) / us / 1e3, "wrong_points": wrong}
    row["us_of_a_call"] = 1e6 * float(np.median(times[long])) / long
    del plans
    for one in (u, v):
        team.free(one)
    return row


def copied(team, xp, n_dims, n, dtype):
    """The row of a copy of as many points."""
    a, b = (xp.ones(n**n_dims, dtype) for _ in range(2))
    team.synchronize()

    def copies(stream):
        with stream:
            for _ in range(10):
                xp.copyto(b, a)

    us = 1e6 * float(np.median([seconds(team, copies) for _ in range(RUNS)])) / 10
    return {"case": "copy", "n": n, "dims": n_dims, "dtype": dtype, "us": us, "GB_per_s": 2 * a.nbytes / us / 1e3}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", required=True)
    parser.add_argument("--nvidia", default="", metavar="DIR", help="NVIDIA's samples: see nvidia.py")
    parser.add_argument("--only", default="", metavar="TEXT", help="only the cases in whose words it is")
    given = parser.parse_args()
    found = []
    for name, program, options in nvidia.jacobi(given.nvidia, 1, 1) if given.nvidia else ():
        for n in (1024, 2048, 4096):
            line = [str(program), "-csv", "-nx", str(n), "-ny", str(n), "-niter", "2000", *options]
            us = min(1e6 * nvidia.csv_seconds(run(line, LIMIT_S)[1], n) / 2000 for _ in range(3))
            found.append({"case": name, "n": n, "dtype": "float32", "norm": "every", "us": us})
    with pennympi.init(heap_bytes=5 << 30 if pennympi_on_gpu() else None) as team:
        xp, me = np, team.me
        if team.backend == "cuda":
            import cupy as xp
        for case in SMALL if team.backend == "host" else CASES:
            if given.only in " ".join(map(str, (case[0].__name__, *case[1:]))):
                try:
                    found.append(measured(team, xp, case))
                except pennympi.Unsupported as error:
                    found.append({"case": case[0].__name__, "n": case[1], "engine": case[4], "not_run": str(error)})
                if me == 0:
                    print(found[-1], flush=True)
        if team.backend == "cuda" and team.n_pes == 1:
            found += [copied(team, xp, 3, n, dtype) for n in (256, 512) for dtype in ("float32", "float64")]
        facts = {
            "PEs": team.n_pes,
            "device": team.device_name,
            "pennympi": pennympi.__version__,
            "Python": platform.python_version(),
        }
        facts |= dict(team.describe()) | {"date": time.strftime("%Y-%m-%d")}
    if me == 0:
        rows.write(given.output, facts, found)


def pennympi_on_gpu():
    """Whether this machine has a GPU that CuPy sees."""
    try:
        import cupy
    except ImportError:
        return False
    return cupy.cuda.runtime.getDeviceCount() > 0


if __name__ == "__main__":
    main()
