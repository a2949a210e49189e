"""Loops that end on the device, compared with loops of the host; and the solver by each variant.

    python benchmarks/loops.py --output loops.json [--nvidia DIR]       DIR: see nvidia.py

Times are us of a sweep, the median of some solves.  The norm is computed in every sweep of the solver.  Every field is
compared with plain loops, bit for bit, in the run that times it.
"""

import nvidia
from rows import main, timed

from apps.jacobi import verify
from apps.jacobi.kernels import relaxed
from apps.jacobi.problem import Problem
from apps.jacobi.variants import TABLE, make_solver
from pennympi.bench.setup import on_host

SIDES, MOST = ((64,), 20) if on_host() else ((256, 1024, 4096), 500)  # points along a side; runs of a loop
SIZE, SWEEPS = (64, 40) if on_host() else (1024, 1000)  # points along a side and sweeps of the solver


def until_small(team, n):
    """Yield rows of two sweeps of n x n points and the norm of the second, until the norm is small: by a loop of the
    host, and by a loop of the device."""
    grid = team.grid((n, n), halo=2)
    u, v = grid.zeros("float64"), grid.zeros("float64")
    for field in (u, v):
        grid.halo_of(field, "y-")[...] = 1
    sweep = grid.plan_sweep(relaxed, u, v, sweeps=2, norm=True)

    def restart():
        grid.interior(u)[...] = 0

    def by_host(below=-1.0):
        norm, runs = 1.0, 0
        while norm > below and runs < MOST:
            sweep()
            team.synchronize()
            norm, runs = float(sweep.norm[0]), runs + 1
        return norm, runs

    def by_device():
        loop()
        team.synchronize()
        return float(sweep.norm[0]), int(loop.runs[0])

    restart()
    below, _ = by_host()
    loop = team.plan_loop(sweep, sweep.norm, below=below, most=2 * MOST)
    ways = {"host": timed(team, lambda: by_host(below), restart), "device": timed(team, by_device, restart)}
    if ways["host"][1] != ways["device"][1]:
        raise SystemExit(f"the loops ended apart: {ways}")
    for way, (seconds, _) in ways.items():
        us = 1e6 * seconds / MOST / 2
        yield {"case": "loop", "variant": f"a loop of the {way}", "n": n, "us": us, "runs": MOST}
    for field in (u, v):
        team.free(field)


def jacobi(team):
    for name in TABLE:
        row = {"case": "jacobi", "variant": name, "n": SIZE}
        try:
            solver = make_solver(team, Problem(SIZE, SIZE, niter=SWEEPS, tol=-1.0), name)
        except ValueError as error:
            yield row | {"not_run": str(error)}
            continue
        solver.warm_up()
        seconds, outcome = timed(team, solver.run, solver.reset)
        verdict = verify.TABLE["serial"].judge(solver, outcome)
        if not verdict.passed:
            raise SystemExit(f"{name}: {verdict.line}")
        solver.free()
        yield row | {"us": 1e6 * seconds / SWEEPS, "verified": verdict.line}


def all_rows(team):
    for n in SIDES:
        yield from until_small(team, n)
    yield from jacobi(team)


def nvidias(folder):
    for name, us in nvidia.on_one(folder, SIZE, SWEEPS):
        yield {"case": "jacobi", "variant": name, "n": SIZE, "us": us}


if __name__ == "__main__":
    main(__doc__, all_rows, nvidias)
