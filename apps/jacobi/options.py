"""The command line.  Every rank parses it, PE 0 prints messages."""

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
FIXED = ("nx", "ny", "dtype", "bc")  # a restart cannot change these
WRITTEN = ("checkpoint", "output", "plot", "timeline")


def _table(title: str, rows: Iterable[tuple[Any, str]]) -> str:
    return "\n".join([title, *(f"  {name!s:16}{text}" for name, text in rows)])


def _epilog() -> str:
    how = _table("variants:", [(name, row.sentence) for name, row in variants.TABLE.items()])
    compared = _table("what --verify compares:", [(name, check.sentence) for name, check in verify.TABLE.items()])
    return "\n\n".join([how, compared, _table("exit status:", STATUSES.items())])


def parser(comm: Any) -> argparse.ArgumentParser:
    """The options.  Those of the problem have no default here, because a restart takes their values from its file."""
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
        g.add_argument(f"--{name}", default=argparse.SUPPRESS, help=f"{text} ({default})", **kind)

    of_problem("nx", "columns, 2 of them fixed")
    of_problem("ny", "rows, 2 of them halo")
    of_problem("niter", "largest number of sweeps")
    of_problem("tol", "stop when the norm is at most this")
    of_problem("nccheck", "sweeps from one norm to the next")
    of_problem("dtype", "dtype of the field")
    of_problem("bc", "which sine the fixed columns hold")
    add = p.add_argument_group("how").add_argument
    add("--backend", choices=("auto", "host", "cuda"), default="auto", help="where to run (%(default)s)")
    text = "how to sweep and exchange, see below (%(default)s)"
    add("--variant", choices=variants.TABLE, default=variants.DEFAULT, help=text)
    add = p.add_argument_group("checkpoints").add_argument
    text = "write one every --checkpoint-every sweeps, and at the end"
    add("--checkpoint", type=Path, metavar="FILE.h5", help=text)
    add("--checkpoint-every", type=at_least(1), default=10_000, metavar="N", help="(%(default)s)")
    text = "go on from a file, on any number of PEs; without FILE, from that of --checkpoint, if it exists"
    add("--restart", type=Path, nargs="?", const=True, metavar="FILE.h5", help=text)
    add = p.add_argument_group("results").add_argument
    text = "compare the result and print PASS or FAIL, see below (serial)"
    add("--verify", choices=verify.TABLE, nargs="?", const="serial", help=text)
    add("--no-serial", action="store_true", help="time the solve alone, not one PE, sweeps and exchanges")
    add("--csv", action="store_true", help="print NVIDIA's csv line and nothing else")
    add("--output", type=Path, metavar="FILE.h5", help="write the field and the history of norms")
    add("--plot", type=Path, metavar="FILE.png", help="draw the field and the history of norms")
    text = "draw the streams of one sweep of PE 0 (not with device, single, blocked, resident, auto)"
    add("--timeline", type=Path, metavar="FILE.svg", help=text)
    return p


def parse(comm: Any, argv: list[str] | None = None) -> tuple[argparse.Namespace, Problem, Outcome]:
    """The options, the problem, and what has been done of it.  Collective.

    Exits on every rank if something is wrong: with status 2, or 1 if it is the file to restart from.
    """
    options = parser(comm).parse_args(argv)
    given = {one.name: getattr(options, one.name) for one in fields(Problem) if hasattr(options, one.name)}
    known, outcome = _saved(comm, options)
    for name in FIXED:
        if options.restart and given.get(name, getattr(known, name)) != getattr(known, name):
            fail(comm, f"{options.restart} holds --{name} {getattr(known, name)}: leave --{name} {given[name]} out")
    problem = Problem(**asdict(known) | given)
    error = comm.bcast(_first_error(options, problem, outcome, comm.size) if comm.rank == 0 else None)
    if error:
        fail(comm, error)
    return options, problem, outcome


def _saved(comm: Any, options: argparse.Namespace) -> tuple[Problem, Outcome]:
    """What is in the file to restart from, or the defaults; sets options.restart to its name."""
    if not options.restart:
        return DEFAULT, Outcome()
    is_optional = options.restart is True  # the file of --checkpoint, which exists from the second run on
    if is_optional and not options.checkpoint:
        fail(comm, "--restart without a file takes the one of --checkpoint: name a file for one of the two")
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
    """Why the run cannot be done, or "".  It tries whether the files can be written."""
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
