"""Loops of the device that end by themselves, on one PE: beside a loop of the host; the solver; conjugate gradients.

    python benchmarks/loops.py --output loops.json [--nvidia DIR]       DIR: see nvidia.py

Times are us of a sweep or of an iteration, the median of RUNS solves.  The norm is computed in every sweep of the
solver, and every field is compared with plain loops, bit for bit, in the run that times it.  For the rest see cg.py.
"""

import argparse
import statistics
import time

import cg
import nvidia
import rows
from launching import run

import pennympi
from apps.jacobi import verify
from apps.jacobi.problem import Problem
from apps.jacobi.variants import TABLE, make_solver
from pennympi.command.bench import facts
from pennympi.kernels.block import real

RUNS, LIMIT_S = 5, 60.0


def laplace(here, south, north, west, east):
    return real(0.25) * (((east + west) + north) + south)


def seconds(call):
    """The median of RUNS calls, each after the one before it has ended."""
    times = []
    for _ in range(RUNS + 1):
        start_s = time.perf_counter()
        call()
        times.append(time.perf_counter() - start_s)
    return statistics.median(times[1:])


def asked(team, n, most):
    """Two sweeps of n x n and the norm of the second, until it is small: by a loop of the host, and by one of the
    device."""
    grid = team.grid((n, n), halo=2)
    u, v = grid.zeros("float64"), grid.zeros("float64")
    for field in (u, v):
        grid.halo_of(field, "y-")[...] = 1
    sweep, ended = grid.plan_sweep(laplace, u, v, sweeps=2, norm=True), {}

    def again():
        grid.interior(u)[...] = 0
        team.synchronize()

    def by_host(below=-1.0):
        again()
        norm, runs = 1.0, 0
        while norm > below and runs < most:
            sweep()
            team.synchronize()
            norm, runs = float(sweep.norm[0]), runs + 1
        ended["by_host"] = (norm, runs)

    by_host()
    below = ended["by_host"][0]
    loop = team.plan_loop(sweep, sweep.norm, below=below, most=2 * most)

    def by_device():
        again()
        loop()
        team.synchronize()
        ended["by_device"] = (float(sweep.norm[0]), int(loop.runs[0]))

    us = {way: 1e6 * seconds(call) / most / 2 for way, call in (("host", lambda: by_host(below)), ("device", by_device))}
    if ended["by_host"] != ended["by_device"]:
        raise SystemExit(f"the loops ended apart: {ended}")
    for field in (u, v):
        team.free(field)
    return [
        {"case": "loop", "variant": f"a loop of the {way}", "n": n, "us": one, "runs": most} for way, one in us.items()
    ]


def jacobi(team, n, sweeps):
    """A row for each variant of the solver."""
    problem, found = Problem(n, n, niter=sweeps, tol=-1.0), []
    for name in TABLE:
        row = {"case": "jacobi", "variant": name, "n": n}
        try:
            solver = make_solver(team, problem, name)
        except ValueError as error:
            found.append(row | {"not_run": str(error)})
            continue
        solver.warm_up()
        times = []
        for _ in range(RUNS + 1):
            solver.reset()
            team.synchronize()
            start_s = time.perf_counter()
            outcome = solver.run()
            times.append(time.perf_counter() - start_s)
        verdict = verify.TABLE["serial"].judge(solver, outcome)
        if not verdict.passed:
            raise SystemExit(f"{name}: {verdict.line}")
        solver.free()
        found.append(row | {"us": 1e6 * statistics.median(times[1:]) / sweeps, "verified": verdict.line})
    return found


def nvidias(folder, n, sweeps):
    """The same for NVIDIA's samples."""
    for name, program, options in nvidia.jacobi(folder, 1, 1):
        line = [str(program), "-csv", "-nx", str(n), "-ny", str(n), "-niter", str(sweeps), *options]
        us = statistics.median(1e6 * nvidia.csv_seconds(run(line, LIMIT_S)[1], n) / sweeps for _ in range(3))
        yield {"case": "jacobi", "variant": name, "n": n, "us": us}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", required=True)
    parser.add_argument("--nvidia", default="")
    given = parser.parse_args()
    with pennympi.init() as team:
        gpu, about = team.backend == "cuda", facts(team, [])
        found = [row for n in ((256, 1024, 4096) if gpu else (64,)) for row in asked(team, n, 500 if gpu else 20)]
        size = (1024, 1000) if gpu else (64, 40)
        found += jacobi(team, *size)
        cubes = (64, 128, 256) if gpu else (16,)
        found += [row for n in cubes for row in cg.measure(team, n)] + cg.convergence(team, cubes[0])
        me = team.me
    if me == 0 and given.nvidia:
        found += [*nvidias(given.nvidia, *size), *nvidia.conjugate_gradients(given.nvidia, cubes)]
    if me == 0:
        rows.write(given.output, about, found)


if __name__ == "__main__":
    main()
