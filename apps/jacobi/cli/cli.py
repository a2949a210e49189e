"""The command line.  Every rank parses it, PE 0 prints messages."""

import argparse
import os
import sys
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

import pennympi

from ...program.arguments import Parser, at_least, fail, not_negative
from ...program.outcome import STATUSES
from ...program.printing import name_program
from .. import variants
from ..grid import boundary, spectrum
from ..grid.problem import Problem
from ..norm import exact_sum
from ..storage import restart
from ..verify import checks
from .validate import first_error

DEFAULT = Problem(nx=1024, ny=1024)
MOST_PES = 100_000  # of a dry run
FIXED = ("nx", "ny", "dtype", "bc", "method")  # a restart cannot change these


def _table(title: str, rows: list[tuple[str, str]]) -> str:
    width = max(len(name) for name, _ in rows)
    return "\n".join([title, *(f"  {name:{width}}  {text}" for name, text in rows)])


def _epilog() -> str:
    variant_rows = [
        (row.name, row.sentence + (f" ({row.needs})" if row.needs else "")) for row in variants.TABLE.values()
    ]
    return "\n\n".join(
        [
            _table("variants:", variant_rows),
            _table("what --verify compares:", [(name, check.sentence) for name, check in checks.TABLE.items()]),
            _table("exit status:", [(str(status), text) for status, text in STATUSES.items()]),
        ]
    )


def _program() -> str:
    """How the user started it: `pennympi-jacobi`, or `python -m` with the package as it was found."""
    own = "pennympi-jacobi"
    return own if Path(sys.argv[0]).name == own else f"python -m {__package__.rpartition('.')[0]}"


def parser(comm: Any) -> argparse.ArgumentParser:
    """The options.  Those of the problem have no default here, because a restart takes their values from its file."""
    p = Parser(
        comm,
        prog=_program(),
        description="Solve Laplace's equation by Jacobi or Chebyshev sweeps on all PEs of the job.",
        epilog=_epilog(),
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    p.add_argument("--version", action="version", version=f"pennympi {pennympi.__version__}")
    g = p.add_argument_group("problem")

    def of_problem(name: str, text: str, **kind: Any) -> None:
        shown = f"{text} ({getattr(DEFAULT, name)})"
        g.add_argument(f"--{name}", default=argparse.SUPPRESS, help=shown, **kind)

    of_problem("nx", "columns, 2 of them fixed", type=at_least(3))
    of_problem("ny", "rows, 2 of them halo", type=at_least(3))
    of_problem("niter", "largest number of sweeps", type=at_least(1))
    of_problem("tol", "stop when the norm is at most this", type=not_negative)
    of_problem("nccheck", "sweeps from one norm to the next", type=at_least(1))
    of_problem("dtype", "dtype of the field", choices=("float32", "float64"))
    of_problem("bc", "which sine the fixed columns hold", choices=boundary.KINDS)
    of_problem("method", "chebyshev needs about the square root of jacobi's sweeps", choices=spectrum.METHODS)
    g = p.add_argument_group("how")
    g.add_argument("--backend", choices=("auto", "host", "cuda"), default="auto", help="where to run (%(default)s)")
    g.add_argument("--variant", choices=variants.TABLE, help=f"how to sweep and exchange, see below ({variants.DEFAULT})")
    text = "for --variant nccl and nccl_overlap: which library sums the norm over the PEs (mpi)"
    g.add_argument("--norm-by", choices=("mpi", "nccl"), help=text)
    text = "for --variant blocked: largest number of sweeps of a pass (8, or fewer if a PE has few rows)"
    g.add_argument("--sweeps", type=at_least(1, exact_sum.MAX_SWEEPS), metavar="T", help=text)
    text = "print decomposition, memory and estimated time for this job's PEs, or for PES, and solve nothing"
    g.add_argument("--dry-run", type=at_least(1, MOST_PES), nargs="?", const=0, metavar="PES", help=text)
    g = p.add_argument_group("checkpoints")
    text = "write a checkpoint at the end, at SIGUSR1, and at SIGTERM, which ends the solve"
    g.add_argument("--checkpoint", type=Path, metavar="FILE.h5", help=text)
    g.add_argument("--checkpoint-every", type=at_least(1), metavar="N", help="write one also every N sweeps")
    text = "write one also every S seconds (600; 0: never)"
    g.add_argument("--checkpoint-seconds", type=not_negative, metavar="S", help=text)
    text = "go on from a checkpoint, on any number of PEs; without FILE, from the file of --checkpoint if it exists"
    g.add_argument("--restart", type=Path, nargs="?", const=True, metavar="FILE.h5", help=text)
    g = p.add_argument_group("results")
    text = "compare the result and print PASS or FAIL, see below (serial)"
    g.add_argument("--verify", choices=checks.TABLE, nargs="?", const="serial", help=text)
    g.add_argument("--must-converge", action="store_true", help="end with status 4 if --niter sweeps do not converge")
    g.add_argument("--no-serial", action="store_true", help="do not time the same solve on one PE alone")
    g.add_argument("--profile", action="store_true", help="print where the time of a sweep goes, and emit NVTX ranges")
    text = "print where the wall time of the program went, from its start on, to stderr"
    g.add_argument("--timings", action="store_true", help=text)
    g.add_argument("--csv", action="store_true", help="print NVIDIA's csv line and nothing else")
    g.add_argument("--json", type=Path, metavar="FILE", help="write all numbers of the run as JSON")
    text = "write the field and the history of norms, and an XDMF file for ParaView"
    g.add_argument("--output", type=Path, metavar="FILE.h5", help=text)
    g.add_argument("--plot", type=Path, metavar="FILE.png", help="draw the field and the history of norms")
    return p


def parse(comm: Any, argv: list[str] | None = None) -> tuple[argparse.Namespace, Problem]:
    """The options and the problem, validated.  Collective.  Exits with status 2 on every rank if something is wrong.

    options.saved: the open file to restart from, checked, or None
    """
    name_program("jacobi")
    options = parser(comm).parse_args(argv)
    given = {one.name: getattr(options, one.name) for one in fields(Problem) if hasattr(options, one.name)}
    options.saved = _saved(comm, options)
    known = asdict(options.saved.problem if options.saved else DEFAULT)
    for name in FIXED:
        if options.saved and given.get(name, known[name]) != known[name]:
            fail(comm, f"{options.restart} holds --{name} {known[name]}, not {given[name]}: leave --{name} out")
    problem = Problem(**known | given)
    n_pes = options.dry_run or comm.size
    error = comm.bcast(first_error(options, problem, n_pes) if comm.rank == 0 else None)
    if error:
        fail(comm, error)
    options.variant = options.variant or variants.DEFAULT
    return options, problem


def _saved(comm: Any, options: argparse.Namespace) -> restart.Source | None:
    """The file to restart from, checked; sets options.restart to its name."""
    if options.restart is True:  # the file of --checkpoint, which exists from the second run on
        if not options.checkpoint:
            fail(comm, "--restart without a file takes the one of --checkpoint: name a file for one of the two")
        there = comm.bcast(os.path.lexists(options.checkpoint) if comm.rank == 0 else None)
        options.restart = options.checkpoint if there else None
    if not options.restart:
        return None
    try:
        return restart.Source(comm, options.restart)
    except ValueError as error:
        remedy = "go on from an older checkpoint, or start again without --restart"
        fail(comm, f"--restart {options.restart}: {error}; {remedy}")
