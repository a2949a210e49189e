"""The command line: every rank reads the same one, PE 0 speaks."""

import argparse
import math
import sys
from pathlib import Path
from typing import Any, NoReturn

from . import boundary, plot, variants
from .files import why_unwritable
from .problem import Problem
from .slab import slabs

BAD_ARGUMENTS = 2


def fail(comm: Any, message: str) -> NoReturn:
    """One line on PE 0, status 2 on every rank.  Call it on all of them."""
    if comm.rank == 0:
        print(f"jacobi: error: {message}", file=sys.stderr, flush=True)
    sys.exit(BAD_ARGUMENTS)


class _Parser(argparse.ArgumentParser):
    """Errors and help once, not once a rank."""

    def __init__(self, comm: Any, **kwargs: Any):
        super().__init__(**kwargs)
        self._comm = comm

    def error(self, message: str) -> NoReturn:
        fail(self._comm, f"{message} (--help lists the options)")

    def _print_message(self, message: str, file: Any = None) -> None:
        if self._comm.rank == 0:
            super()._print_message(message, file)


def _at_least(least: int):
    def whole(text: str) -> int:
        try:
            value = int(text)
        except ValueError:
            raise argparse.ArgumentTypeError(f"{text!r} is not a whole number") from None
        if not least <= value < 2**31:
            raise argparse.ArgumentTypeError(f"{value} is not between {least} and 2147483647")
        return value

    return whole


def _tolerance(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number") from None
    if not (value >= 0 and math.isfinite(value)):
        raise argparse.ArgumentTypeError(f"{text} is not a number >= 0")
    return value


def _variants() -> str:
    """A line for each variant, for --help."""
    rows = variants.TABLE.values()
    width = max(len(row.name) for row in rows)
    return "\n".join(
        ["variants:", *(f"  {row.name:{width}}  {row.sentence}{row.needs and f' ({row.needs})'}" for row in rows)]
    )


def parser(comm: Any) -> argparse.ArgumentParser:
    """The options and their defaults."""
    p = _Parser(
        comm,
        prog="python -m apps.jacobi",
        description="Solve Laplace's equation by Jacobi sweeps on all PEs of the job.",
        epilog=_variants() + "\n\nExit status: 0 done or converged, 1 verification failed, 2 bad arguments, 3 diverged.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    p.add_argument("--nx", type=_at_least(3), default=1024, help="columns, 2 of them fixed (%(default)s)")
    p.add_argument("--ny", type=_at_least(3), default=1024, help="rows, 2 of them halo (%(default)s)")
    p.add_argument("--niter", type=_at_least(1), default=1000, help="sweeps at most (%(default)s)")
    p.add_argument("--tol", type=_tolerance, default=1e-8, help="stop at a norm at most this (%(default)s)")
    p.add_argument("--nccheck", type=_at_least(1), default=1, help="sweeps between two norms (%(default)s)")
    p.add_argument("--dtype", choices=("float32", "float64"), default="float32", help="of the field (%(default)s)")
    p.add_argument("--bc", choices=boundary.KINDS, default="nvidia", help="sine on the fixed columns (%(default)s)")
    p.add_argument("--backend", choices=("auto", "host", "cuda"), default="auto", help="(%(default)s)")
    p.add_argument("--variant", choices=variants.TABLE, default=variants.DEFAULT, help="(%(default)s), see below")
    p.add_argument("--verify", action="store_true", help="compare with NumPy and an oracle, print PASS or FAIL")
    p.add_argument("--csv", action="store_true", help="print NVIDIA's csv line and nothing else")
    p.add_argument("--json", type=Path, metavar="FILE", help="write all numbers of the run")
    p.add_argument("--output", type=Path, metavar="FILE.h5", help="write the field and the residual history")
    p.add_argument("--plot", type=Path, metavar="FILE.png", help="draw the field and the residual history")
    return p


def parse(comm: Any, argv: list[str] | None = None) -> tuple[argparse.Namespace, Problem]:
    """Options and problem, checked.  Exits with status 2 on every rank if something is wrong."""
    options = parser(comm).parse_args(argv)
    problem = Problem(options.nx, options.ny, options.niter, options.tol, options.nccheck, options.dtype, options.bc)
    try:
        slabs(problem.ny, comm.size)
    except ValueError as error:
        fail(comm, str(error))
    complaint = comm.bcast(_complaint(options) if comm.rank == 0 else None)
    if complaint:
        fail(comm, complaint)
    return options, problem


def _complaint(options: argparse.Namespace) -> str:
    """What is wrong with the files that PE 0 is to write, or ""."""
    if options.plot and plot.missing():
        return plot.missing()
    for name in ("json", "output", "plot"):
        path = getattr(options, name)
        reason = why_unwritable(path) if path else ""
        if reason:
            return f"--{name} {path} cannot be written: {reason}"
    return ""
