"""An iteration of conjugate gradients: the variants of apps/poisson, beside CuPy's solver and NVIDIA's sample.

    mpirun -np 2 python benchmarks/cg.py --output cg.json [--nvidia DIR]

n^3 points of float64, seven points a row.  Times are us of an iteration on the slowest PE, the median of solves of at
most CHECK iterations.  The bits of u are the same from every variant of a method, and in the same run every variant
solves for the known solution.  CuPy's runs on one GPU; for DIR see nvidia.py.
"""

import inspect
import statistics
import time
import zlib

import numpy as np
import nvidia
import rows

from apps.poisson.manufactured import judge, right_side
from apps.poisson.problem import Problem
from apps.poisson.solver import TABLE, Solver, why_not
from pennympi.bench.setup import on_host

CHECK, ROUNDS, TOL = 200, 10, 1e-8
SIZES = (16, 24) if on_host() else (64, 128, 256)
STOPS = 9  # of solves whose residual is computed anew, from as many iterations as TOL takes to twice as many


def solvers(team, n):
    """(solver of an n^3, what names it) for every variant and method that can run here.  Collective."""
    for variant, form in TABLE.items():
        for method in form.methods:
            problem = Problem((n, n, n), (False,) * 3, niter=20 * n, replace=0, method=method)
            if not why_not(variant, team, problem):
                solver = Solver(team, problem, variant)
                yield solver, {"variant": variant if method == "cg" else f"{variant}, {method}", "n": n}
                solver.free()


def begin(solver, niter, tol=0.0):
    """Let the next run start from u = 0, and end after ``niter`` iterations or at a residual of ``tol``."""
    solver.problem.niter, solver.problem.tol = niter, tol
    solver.fields["u"][...] = 0
    solver.team.synchronize()


def measure(team, n):
    """A row for each variant and method, and for CuPy's solver.  Collective."""
    bits = {}
    for solver, row in solvers(team, n):
        solver.set_f(right_side(solver.grid, solver.problem))
        seconds, ended = rows.timed(team, solver.run, lambda solver=solver: begin(solver, CHECK), ROUNDS)
        us = 1e6 * seconds / len(ended.history)  # fewer than CHECK, where r is 0
        whole = solver.grid.gather(solver.fields["u"])
        crc = zlib.crc32(whole) if team.me == 0 else 0
        if bits.setdefault(solver.problem.method, crc) != crc:
            raise SystemExit(f"the variants differ at {n}^3: {row['variant']}")
        begin(solver, 20 * n, TOL)
        ended = solver.run()
        passed, line = judge(solver)
        if not passed:
            raise SystemExit(f"{row}: {line}")
        yield row | {"us": us, "iterations": len(ended.history), "verified": line}
    if team.me == 0 and team.backend == "cuda":
        yield {"variant": "CuPy, one GPU", "n": n, "us": cupys(n)}
    team.comm.Barrier()


def convergence(team, n):
    """A row for each variant and method: iterations, and the least residual computed anew, for an f of noise."""
    noise = np.random.default_rng(7).standard_normal((n, n, n))
    for solver, row in solvers(team, n):
        solver.set_f(noise[tuple(slice(i, i + own) for i, own in zip(solver.grid.first, solver.grid.own, strict=True))])
        begin(solver, 20 * n, TOL)
        k, least = len(solver.run().history), np.inf
        for stop in np.linspace(k, 2 * k, STOPS).astype(int).tolist():
            begin(solver, stop)
            solver.run()
            least = min(least, solver.residual())
        yield row | {"f": "noise", "iterations": k, "least_residual": least}


def cupys(n):
    """us of an iteration of cupyx.scipy.sparse.linalg.cg, over compressed rows of the same matrix."""
    import cupy
    from cupyx.scipy import sparse
    from cupyx.scipy.sparse.linalg import cg

    one = sparse.identity(n)
    line = sparse.diags([-1.0, 2.0, -1.0], [-1, 0, 1], shape=(n, n))
    plane = sparse.kron(line, one) + sparse.kron(one, line)
    matrix = (sparse.kron(plane, one) + sparse.kron(sparse.identity(n * n), line)).tocsr()
    f = cupy.random.default_rng(1).random(n**3)
    tol = "rtol" if "rtol" in inspect.signature(cg).parameters else "tol"
    us = []
    for _ in range(6):
        cupy.cuda.Device().synchronize()
        start_s = time.perf_counter()
        cg(matrix, f, maxiter=CHECK, atol=0.0, **{tol: 1e-300})
        cupy.cuda.Device().synchronize()
        us.append((time.perf_counter() - start_s) / CHECK * 1e6)
    u, _ = cg(matrix, f, maxiter=20 * n, atol=0.0, **{tol: TOL})
    if not float(cupy.linalg.norm(f - matrix @ u) / cupy.linalg.norm(f)) < 10 * TOL:
        raise SystemExit("CuPy's solver does not converge")
    return statistics.median(us[1:])


def every(team):
    """All rows."""
    for n in SIZES:
        yield from measure(team, n)
    yield from convergence(team, SIZES[0])


def nvidias(folder):
    """The rows of NVIDIA's samples."""
    return nvidia.conjugate_gradients(folder, SIZES)


if __name__ == "__main__":
    rows.main(__doc__, every, nvidias)
