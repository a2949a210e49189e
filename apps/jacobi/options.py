"""The command line.  Every rank parses it; PE 0 prints messages."""

import argparse
import os
from collections.abc import Iterable
from dataclasses import asdict, fields
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pennympi

from ..program.arguments import Parser, at_least, fail
from ..program.outcome import FAILED, STATUSES, Outcome
from . import storage, variants, verify
from .problem import CHOICES, RANGES, Problem
from .solver import has_exchange

DEFAULT = Problem(nx=1024, ny=1024)
GPU_SIZE = 16384  # of nx and ny on GPUs
FIXED = ("nx", "ny", "dtype", "bc")  # options that a restart cannot change
WRITTEN = ("checkpoint", "output", "plot", "timeline")


def _table(title: str, rows: Iterable[tuple[Any, str]]) -> str:
    return "\n".join([title, *(f"  {name!s:16}{text}" for name, text in rows)])


def _epilog() -> str:
    ways = _table("variants:", [(name, row.sentence) for name, row in variants.TABLE.items()])
    checks = _table("checks of --verify:", [(name, check.sentence) for name, check in verify.TABLE.items()])
    return "\n\n".join([ways, checks, _table("exit status:", STATUSES.items())])


def parser(comm: Any) -> argparse.ArgumentParser:
    """The parser.  An option of the problem has no default in it, since a restart takes the value from its file."""
    p = Parser(
        comm,
        prog="pennympi-jacobi",
        description="Solve Laplace's equation by Jacobi sweeps on all PEs of the job.",
        epilog=_epilog(),
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    p.add_argument("--version", action="version", version=f"pennympi {pennympi.__version__}")
    g = p.add_argument_group("problem")

    def of_problem(name: str, text: str) -> None:
        kind: dict[str, Any] = {"type": RANGES[name]} if name in RANGES else {"choices": CHOICES[name]}
        on_gpus = f"; on GPUs {GPU_SIZE}" if name in ("nx", "ny") else ""
        default = f"{getattr(DEFAULT, name)}{on_gpus}"
        g.add_argument(f"--{name}", default=argparse.SUPPRESS, help=f"{text} (default: {default})", **kind)

    of_problem("nx", "number of columns; the first and the last one are fixed")
    of_problem("ny", "number of rows; the first and the last one repeat rows of the ring")
    of_problem("niter", "the most sweeps")
    of_problem("tol", "stop when the L2 norm of the change of a sweep is at most this")
    of_problem("nccheck", "number of sweeps from a norm to the next")
    of_problem("dtype", "dtype of the field")
    of_problem("bc", "the sine of the fixed columns: of NVIDIA's sample, or of the ring's own period")
    add = p.add_argument_group("execution").add_argument
    text = "host: CPUs; cuda: GPUs; auto: GPUs if there are any (default: %(default)s)"
    add("--backend", choices=("auto", "host", "cuda"), default="auto", help=text)
    text = "the way to sweep and exchange, see below (default: %(default)s)"
    add("--variant", choices=variants.TABLE, default=variants.DEFAULT, help=text)
    add = p.add_argument_group("checkpoints").add_argument
    text = "write a checkpoint every --checkpoint-every sweeps, and at the end (default: none)"
    add("--checkpoint", type=Path, metavar="FILE.h5", help=text)
    text = "number of sweeps from a checkpoint to the next (default: %(default)s)"
    add("--checkpoint-every", type=at_least(1), default=10_000, metavar="N", help=text)
    text = "continue from a file, on any number of PEs; without FILE from the file of --checkpoint, if it exists"
    add("--restart", type=Path, nargs="?", const=True, metavar="FILE.h5", help=f"{text} (default: no)")
    add = p.add_argument_group("results").add_argument
    text = "check the result and print PASS or FAIL, see below (without a name: serial; default: no)"
    add("--verify", choices=verify.TABLE, nargs="?", const="serial", help=text)
    text = "measure only the solve, not the time of one PE, and not what of the exchange is hidden (default: no)"
    add("--no-serial", action="store_true", help=text)
    add("--csv", action="store_true", help="print only the csv line of NVIDIA's sample (default: no)")
    add("--output", type=Path, metavar="FILE.h5", help="write the field and the history of norms (default: none)")
    add("--plot", type=Path, metavar="FILE.png", help="draw the field and the history of norms (default: none)")
    text = "draw the streams of a sweep of PE 0, not with device, single, blocked, resident and auto (default: none)"
    add("--timeline", type=Path, metavar="FILE.svg", help=text)
    return p


def parse(comm: Any, argv: list[str] | None = None) -> tuple[argparse.Namespace, Problem, Outcome]:
    """The options, the problem, and the outcome so far.  Collective.

    Exits on every rank if an option is wrong: with status 1 if the file of --restart is wrong, else with status 2.
    """
    options = parser(comm).parse_args(argv)
    chosen = {item.name: getattr(options, item.name) for item in fields(Problem) if hasattr(options, item.name)}
    known, outcome = _saved(comm, options)
    for name in FIXED:
        if options.restart and chosen.get(name, getattr(known, name)) != getattr(known, name):
            fail(comm, f"{options.restart} holds --{name} {getattr(known, name)}: leave --{name} {chosen[name]} out")
    problem = Problem(**asdict(known) | chosen)
    error = comm.bcast(_first_error(options, problem, outcome, comm.size) if comm.rank == 0 else None)
    if error:
        fail(comm, error)
    return options, problem, outcome


def _saved(comm: Any, options: argparse.Namespace) -> tuple[Problem, Outcome]:
    """The problem and outcome in the file of --restart, or the defaults.  Sets options.restart to the file's name."""
    if not options.restart:
        return DEFAULT, Outcome()
    is_optional = options.restart is True  # the file of --checkpoint, which exists from the second run on
    if is_optional and not options.checkpoint:
        fail(comm, "--restart without a file takes the file of --checkpoint: give a file to one of the two")
    path = options.checkpoint if is_optional else options.restart
    exists = comm.bcast(os.path.lexists(path) if comm.rank == 0 else None)
    if not exists and not is_optional:
        fail(comm, f"--restart {path}: no such file or directory")
    options.restart = path if exists else None
    if not options.restart:
        return DEFAULT, Outcome()
    try:
        return storage.read(comm, options.restart)
    except storage.Unreadable as error:
        fail(comm, f"--restart {options.restart}: {error}", FAILED)


def _first_error(options: argparse.Namespace, problem: Problem, outcome: Outcome, n_pes: int) -> str:
    """The reason why the run is impossible, or "".  Also tries to write the files."""
    if problem.ny - 2 < n_pes:
        return f"{problem.ny - 2} inner rows (ny - 2) cannot be shared by {n_pes} PEs: use a larger --ny or fewer PEs"
    if outcome.iterations >= problem.niter:
        done = f"{options.restart} has {outcome.iterations} iterations already"
        return f"{done}: give a larger --niter than {problem.niter}"
    if options.plot and not find_spec("matplotlib"):
        return "matplotlib is not installed: pip install matplotlib, or leave --plot out"
    if options.timeline and not has_exchange(variants.TABLE[options.variant].Variant):
        return f"--variant {options.variant} has no exchange of its own: leave --timeline out, or take another variant"
    named = [(name, getattr(options, name)) for name in WRITTEN if getattr(options, name)]
    if len({os.path.realpath(path) for _, path in named}) < len(named):
        return f"--{', --'.join(WRITTEN)} are different files: take another name for one of them"
    for name, path in named:
        if reason := storage.why_unwritable(path):
            return f"--{name} {path} cannot be written: {reason}"
    return variants.too_large(problem)
