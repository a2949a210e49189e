"""An iteration of conjugate gradients: the variants of apps/poisson, beside CuPy's solver and NVIDIA's sample.

    mpirun -np 2 python benchmarks/cg.py --output cg.json [--nvidia DIR]

n^3 points of float64, seven points a row.  Times are us of an iteration on the slowest PE, the median of solves of at
most CHECK iterations.  The bits of u are the same from every variant.  CuPy's runs on one GPU; for DIR see nvidia.py.
"""

import argparse
import inspect
import statistics
import time
import zlib

import nvidia
import rows
from mpi4py import MPI

import pennympi
from apps.poisson import manufactured
from apps.poisson.problem import Problem
from apps.poisson.solver import TABLE, Solver, why_not
from pennympi.command.bench import facts

CHECK, ROUNDS, TOL = 200, 10, 1e-8


def measure(team, n):
    """A row for each variant, and for CuPy's solver.  Collective."""
    problem, found, bits = Problem((n, n, n), (False,) * 3, "float64", 0.0, CHECK, replace=0), [], set()
    for name in TABLE:
        if why_not(name, team, problem):
            continue
        solver = Solver(team, problem, name)
        solver.set_f(manufactured.right_side(solver.grid, problem))
        solver.run()  # kernels are loaded
        us = []
        for _ in range(ROUNDS):
            team.comm.Barrier()
            start_s = time.perf_counter()
            iterations = len(solver.run().history)  # fewer, where r is 0
            us.append(team.comm.allreduce((time.perf_counter() - start_s) / iterations * 1e6, op=MPI.MAX))
        whole = solver.grid.gather(solver.fields["u"])
        bits.add(zlib.crc32(whole) if team.me == 0 else 0)
        solver.free()
        found.append({"variant": name, "n": n, "us": statistics.median(us)})
    if len(bits) > 1:
        raise SystemExit(f"the variants differ at {n}^3")
    if team.me == 0 and team.backend == "cuda":
        found.append({"variant": "CuPy, one GPU", "n": n, "us": cupys(n)})
    team.comm.Barrier()
    return found


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


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", required=True)
    parser.add_argument("--nvidia", default="")
    given, found = parser.parse_args(), []
    with pennympi.init(MPI.COMM_WORLD) as team:
        about, me = facts(team, []), team.me
        sizes = (64, 128, 256) if team.backend == "cuda" else (16, 24)
        for n in sizes:
            found += measure(team, n)
    if me == 0:
        found += nvidia.conjugate_gradients(given.nvidia, sizes) if given.nvidia else []
        rows.write(given.output, about, found)


if __name__ == "__main__":
    main()
