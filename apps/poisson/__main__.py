"""Solve -laplace(u) = f on the unit square or cube by conjugate gradients, on every PE of an MPI job:

    mpirun -np 4 python -m apps.poisson --verify
    mpirun -np 4 python -m apps.poisson --shape 255x255x255 --output u.h5

f is the right-hand side of a known solution, with which --verify compares u.
From an installed package: mpirun -np 4 python -m pennympi.apps.poisson
"""

import argparse
import math
import time
from typing import Any

import numpy as np
from mpi4py import MPI

import pennympi

from ..program.arguments import Parser, at_least, not_negative
from ..program.progress import Progress
from . import manufactured
from .solver import Problem, Solver

TOL = {"float32": 1e-5, "float64": 1e-8}
# A heap has room for FIELDS fields, with PADDING more points along each dimension for halos and gaps, and SPARE_BYTES.
FIELDS, PADDING, SPARE_BYTES = 6, 48, 64 << 20


def shape(text: str) -> tuple[int, ...]:
    """The type of --shape."""
    numbers = tuple(int(n) for n in text.split("x"))
    if len(numbers) not in (2, 3) or min(numbers) < 2:
        raise ValueError
    return numbers


def options(comm: Any, argv: list[str] | None) -> tuple[Problem, argparse.Namespace]:
    """The problem of the command line, and all options."""
    parser = Parser(comm, prog="python -m apps.poisson", description=__doc__.partition(",")[0], allow_abbrev=False)
    add = parser.add_argument
    text = "number of points along x, y and perhaps z (default: 63x63x63)"
    add("--shape", type=shape, default=(63, 63, 63), metavar="NxNxN", help=text)
    text = "periodic dimensions, such as xz (default: none)"
    add("--periodic", default="", metavar="AXES", help=text)
    add("--dtype", choices=TOL, default="float64", help="dtype of the fields (default: %(default)s)")
    text = "stop when the residual's norm over the right-hand side's is at most this (default: 1e-8; float32: 1e-5)"
    add("--tol", type=not_negative, help=text)
    add("--niter", type=at_least(1), default=10000, metavar="N", help="the most iterations (default: %(default)s)")
    add("--verify", action="store_true", help="compare u with the known solution: PASS or FAIL (default: no)")
    text = "file for u, and FILE.h5.xdmf for ParaView (default: none)"
    add("--output", metavar="FILE.h5", help=text)
    args = parser.parse_args(argv)
    axes, tol = "xyz"[: len(args.shape)], TOL[args.dtype] if args.tol is None else args.tol
    if set(args.periodic) - set(axes):
        parser.error(f"--periodic must be made of the letters {axes}, got {args.periodic}")
    try:
        return Problem(args.shape, tuple(axis in args.periodic for axis in axes), args.dtype, tol, args.niter), args
    except ValueError as error:
        parser.error(str(error))


def main(argv: list[str] | None = None) -> int:
    """Run with these arguments (None: those of the command line).  Returns 0; 1 after FAIL, or if the solve diverges."""
    comm = MPI.COMM_WORLD
    problem, args = options(comm, argv)
    field_bytes = math.prod(n + PADDING for n in problem.shape) * np.dtype(problem.dtype).itemsize
    with pennympi.init(comm, heap_bytes=FIELDS * field_bytes // comm.size + SPARE_BYTES) as team:
        solver = Solver(team, problem)
        for _ in range(2 if team.backend == "cuda" else 1):  # on GPUs the first solve loads kernels and captures loops
            solver.set_f(manufactured.right_side(solver.grid, problem))
            team.barrier()
            team.synchronize()
            progress, begin_s = Progress(team.me, problem.niter), time.perf_counter()
            norms = solver.run(progress.show)
            seconds = max(comm.allgather(time.perf_counter() - begin_s))
            progress.close()
        us, passed = 1e6 * seconds / len(norms), math.isfinite(norms[-1])
        lines = [
            f"{problem.dtype} {problem.shape} over {solver.grid.dims} PEs, {team.backend}",
            f"{len(norms)} iterations, residual {norms[-1]:.3e}, {problem.tol:g} wanted",
            f"{seconds:.4g} s, {us:.1f} us an iteration, {math.prod(problem.shape) / us / 1e3:.4g} GLUP/s",
        ]
        if args.verify and passed:
            passed, line = manufactured.judge(solver)
            lines.append(f"{'PASS' if passed else 'FAIL'}: {line}")
        if args.output:
            solver.fields["u"] *= solver.unit
            solver.grid.save(args.output, u=solver.fields["u"])
        if team.me == 0:
            print(*lines, sep="\n", flush=True)
        solver.free()
    return int(not passed)


if __name__ == "__main__":
    raise SystemExit(main())
