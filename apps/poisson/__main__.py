"""Solve -laplace(u) = f on the unit square or cube by conjugate gradients, on every PE of an MPI job:

    mpirun -np 4 python -m apps.poisson --verify
    mpirun -np 4 python -m apps.poisson --shape 255x255x255 --output u.h5

f is that of a known solution, which --verify compares with.  Installed it is python -m pennympi.apps.poisson.
"""

import argparse
import io
import math
import sys
import time
from functools import partial
from typing import Any

from mpi4py import MPI

import pennympi

from ..program.arguments import Parser, at_least, fail, not_negative
from . import manufactured
from .problem import Problem
from .solver import METHODS, TABLE, Solver

TOL = {"float32": 1e-5, "float64": 1e-8}
FIELDS, BESIDE, SPARE_BYTES = 7, 48, 64 << 20  # of the heap: fields, halos and gaps of a row, the rest
ENDINGS = {"converged": "", "iterations": ", not converged", "diverged": ", DIVERGED: the residual is not finite"}


def shape(text: str) -> tuple[int, ...]:
    """The type of a shape, such as 64x64x64."""
    numbers = tuple(int(n) for n in text.split("x"))
    if len(numbers) not in (2, 3) or min(numbers) < 2:
        raise ValueError
    return numbers


def options(comm: Any, argv: list[str] | None) -> argparse.Namespace:
    """The command line.  periodic: by dimension"""
    tables = {"variant": {name: form.sentence for name, form in TABLE.items()}, "method": METHODS}
    parser = Parser(comm, prog="python -m apps.poisson", allow_abbrev=False)
    add = parser.add_argument
    add("--shape", type=shape, default=(63, 63, 63), help="two or three numbers of points (63x63x63)")
    add("--periodic", default="", help="dimensions that wrap around, such as xz (none)")
    add("--dtype", choices=TOL, default="float64", help="of the fields (%(default)s)")
    add("--tol", type=not_negative, help="residual over right-hand side at which to stop (1e-8; float32: 1e-5)")
    add("--niter", type=at_least(1), default=10000, help="largest number of iterations (%(default)s)")
    for word, rows in tables.items():
        sentences = "; ".join(f"{name}: {sentence}" for name, sentence in rows.items())
        add(f"--{word}", choices=rows, default=next(iter(rows)), help=f"(%(default)s) {sentences}")
    add("--verify", action="store_true", help="compare with the known solution: PASS or FAIL")
    add("--output", metavar="FILE.h5", help="write u")
    given = parser.parse_args(argv)
    axes = "xyz"[: len(given.shape)]
    if set(given.periodic) - set(axes):
        parser.error(f"--periodic must be made of the letters {axes}, got {given.periodic}")
    given.periodic = tuple(axis in given.periodic for axis in axes)
    return given


def main(argv: list[str] | None = None) -> int:
    """Run with these arguments (None: the command line's).  Returns 0; 1 for FAIL, and if the solve diverges."""
    comm = MPI.COMM_WORLD
    given = options(comm, argv)
    tol = TOL[given.dtype] if given.tol is None else given.tol
    problem = Problem(given.shape, given.periodic, given.dtype, tol, given.niter, method=given.method)
    heap_bytes = FIELDS * math.prod(n + BESIDE for n in problem.shape) * problem.item_bytes // comm.size + SPARE_BYTES
    with pennympi.init(comm, heap_bytes=heap_bytes) as team:
        try:
            solver = Solver(team, problem, given.variant)
        except ValueError as error:
            team.finalize()
            fail(comm, str(error))
        say = partial(print, file=sys.stdout if team.me == 0 else io.StringIO(), flush=True)
        f = manufactured.right_side(solver.grid, problem)
        for _ in range(2 if team.backend == "cuda" else 1):  # there the first solve loads kernels and captures loops
            solver.set_f(f)
            team.barrier()
            team.synchronize()
            begin_s = time.perf_counter()
            reason, history = solver.run()
            seconds = max(comm.allgather(time.perf_counter() - begin_s))
        sizes, parts = ("x".join(map(str, numbers)) for numbers in (problem.shape, solver.grid.dims))
        on, us = f"{team.n_pes} PEs ({parts}, {team.backend})", 1e6 * seconds / len(history)
        say(f"{sizes} of {problem.dtype} on {on}, variant {given.variant}, method {given.method}")
        say(f"{len(history)} iterations, residual {history[-1]:.3e}{ENDINGS[reason]}")
        say(f"{seconds:.4f} s, {us:.1f} us an iteration, {problem.points / us / 1e3:.4f} GLUP/s")
        if given.output:
            solver.fields.set("r", solver.u())
            solver.grid.save(given.output, u=solver.fields["r"])
        passed = reason != "diverged"
        if given.verify and passed:
            passed, line = manufactured.judge(solver)
            say(f"{'PASS' if passed else 'FAIL'}: {line}")
        solver.free()
    return int(not passed)


if __name__ == "__main__":
    sys.exit(main())
