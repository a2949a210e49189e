"""Solve -laplace(u) = f on the unit square or cube by conjugate gradients, on every PE of an MPI job:

    mpirun -np 4 python -m apps.poisson --verify
    mpirun -np 4 python -m apps.poisson --shape 255x255x255 --output u.h5

f is that of a known solution, which --verify compares with.  The same from an installed package:
mpirun -np 4 python -m pennympi.apps.poisson
"""

import argparse
import math
import sys
import time
from typing import Any

import pennympi

from . import manufactured, verify
from .problem import Problem
from .solver import TABLE, Solver

TOL = {"float32": 1e-5, "float64": 1e-8}
ROW_SPARE_BYTES = 128  # at most, between the own points of a row and those of the next one
SPARE_BYTES = 64 << 20  # of the heap, for the library, beside the fields
ENDINGS = {"converged": "", "iterations": ", not converged", "diverged": ", DIVERGED: the residual is not finite"}


def shape(text: str) -> tuple[int, ...]:
    """The type of a shape, such as 64x64x64."""
    numbers = tuple(int(n) for n in text.split("x"))
    if len(numbers) not in (2, 3) or min(numbers) < 2:
        raise ValueError
    return numbers


def options(argv: list[str] | None) -> argparse.Namespace:
    """The command line."""
    variants = "; ".join(f"{name}: {variant.sentence}" for name, variant in TABLE.items())
    parser = argparse.ArgumentParser(prog="python -m apps.poisson", allow_abbrev=False)
    parser.add_argument("--shape", type=shape, default=(63, 63, 63), help="two or three numbers of points (63x63x63)")
    parser.add_argument("--periodic", default="", help="dimensions that wrap around, such as xz (none)")
    parser.add_argument("--dtype", choices=TOL, default="float64", help="of the fields (%(default)s)")
    parser.add_argument("--tol", type=float, help="residual over right-hand side at which to stop (1e-8; float32: 1e-5)")
    parser.add_argument("--niter", type=int, default=10000, help="largest number of iterations (%(default)s)")
    parser.add_argument("--backend", choices=("auto", "host", "cuda"), default="auto", help="where to run (%(default)s)")
    parser.add_argument("--variant", choices=TABLE, default="loop", help=f"(%(default)s) {variants}")
    parser.add_argument("--verify", action="store_true", help="compare with the known solution: PASS or FAIL")
    parser.add_argument("--output", metavar="FILE.h5", help="write u")
    given = parser.parse_args(argv)
    axes = "xyz"[: len(given.shape)]
    if given.tol is None:
        given.tol = TOL[given.dtype]
    if not (given.tol >= 0 and given.niter >= 1):
        parser.error("--tol must be at least 0, and --niter at least 1")
    if set(given.periodic) - set(axes):
        parser.error(f"--periodic must be made of the letters {axes}, got {given.periodic}")
    return given


def heap_bytes(problem: Problem, n_pes: int) -> int | None:
    """Size of a PE's symmetric heap; None, which is the library's default, for small fields."""
    rows = math.prod(problem.shape[:-1])
    row_bytes = problem.shape[-1] * problem.item_bytes + ROW_SPARE_BYTES * n_pes
    fields = 5 * 2 * rows * row_bytes // n_pes  # twice: uneven parts, and halos
    return None if fields <= SPARE_BYTES else fields + SPARE_BYTES


def report(solver: Solver, outcome: Any, seconds: float) -> None:
    """Print how the solve went."""
    problem, team = solver.problem, solver.team
    each_s = seconds / outcome.iterations
    sizes, parts = ("x".join(map(str, numbers)) for numbers in (problem.shape, solver.grid.dims))
    print(
        f"{sizes} of {problem.dtype} on {team.n_pes} PEs ({parts}, {team.backend}), variant {solver.variant}\n"
        f"{outcome.iterations} iterations, residual {outcome.history[-1]:.3e}{ENDINGS[outcome.reason]}\n"
        f"{seconds:.4f} s, {1e6 * each_s:.1f} us an iteration, {problem.points / each_s / 1e9:.4f} GLUP/s",
        flush=True,
    )


def main(argv: list[str] | None = None) -> int:
    """Run with these arguments (None: the command line's).  Returns 0; 1 for FAIL, and if the solve diverges."""
    from mpi4py import MPI

    comm = MPI.COMM_WORLD
    given = options(argv)
    periodic = tuple(axis in given.periodic for axis in "xyz"[: len(given.shape)])
    problem = Problem(given.shape, periodic, given.dtype, given.tol, given.niter)
    with pennympi.init(comm, backend=given.backend, heap_bytes=heap_bytes(problem, comm.size)) as team:
        solver = Solver(team, problem, given.variant)
        solver.set_f(manufactured.right_side(solver.grid, problem))
        team.barrier()
        team.synchronize()
        begin_s = time.perf_counter()
        outcome = solver.run()
        seconds = max(comm.allgather(time.perf_counter() - begin_s))
        failed = outcome.reason == "diverged"
        if team.me == 0:
            report(solver, outcome, seconds)
        if given.output:
            solver.fields.set("r", solver.u())
            solver.grid.save(given.output, u=solver.fields["r"])
        if given.verify and math.isfinite(outcome.history[-1]):
            passed, line = verify.judge(solver)
            failed = failed or not passed
            if team.me == 0:
                print(f"{'PASS' if passed else 'FAIL'}: {line}", flush=True)
        solver.free()
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
