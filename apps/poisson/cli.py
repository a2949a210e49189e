"""The command line.  Every rank parses it, PE 0 prints messages."""

import argparse
import os
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pennympi

from ..program import figure
from ..program.arguments import Parser, at_least, fail, not_negative
from ..program.outcome import STATUSES
from ..program.printing import name_program
from ..program.whole_files import why_unwritable
from . import right_sides, variants
from .problem import PRECONDITIONERS, Problem
from .storage import Source

DEFAULT = Problem((63, 63, 63), (False, False, False))
TOL = {"float32": 1e-5, "float64": 1e-8}
FIXED = ("shape", "periodic", "dtype", "check", "preconditioner")  # a restart cannot change these
CHECKPOINT_S = 600.0


def sizes(text: str) -> tuple[int, ...]:
    """The type of a shape, such as 64x64x64."""
    try:
        shape = tuple(int(one) for one in text.split("x"))
    except ValueError:
        shape = ()
    if len(shape) not in (2, 3) or min(shape) < 2:
        raise argparse.ArgumentTypeError(f"{text!r} is not two or three numbers of points from 2 on, such as 64x64x64")
    return shape


def axes(text: str) -> str:
    """The type of --periodic: some of the letters x, y and z."""
    if set(text) - set("xyz"):
        raise argparse.ArgumentTypeError(f"{text!r} is not made of the letters x, y and z")
    return text


def even(text: str) -> int:
    """The type of an even number from 2 on."""
    value = at_least(2)(text)
    if value % 2:
        raise argparse.ArgumentTypeError(f"{value} is not even")
    return value


def _epilog() -> str:
    rows = variants.TABLE.values()
    tables = {
        "variants": {one.name: one.sentence + (f" ({one.needs})" if one.needs else "") for one in rows},
        "preconditioners": PRECONDITIONERS,
        "exit status": {str(status): text for status, text in STATUSES.items()},
    }
    return "\n\n".join(
        "\n".join([f"{title}:", *(f"  {name:{max(map(len, rows))}}  {text}" for name, text in rows.items())])
        for title, rows in tables.items()
    )


def parser(comm: Any) -> argparse.ArgumentParser:
    """The options.  Those of the problem have no default here, because a restart takes their values from its file."""
    p = Parser(
        comm,
        prog=f"python -m {__package__}",
        description="Solve -laplace(u) = f on the unit square or cube by conjugate gradients on all PEs of the job.",
        epilog=_epilog(),
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    p.add_argument("--version", action="version", version=f"pennympi {pennympi.__version__}")
    g = p.add_argument_group("problem")

    def of_problem(name: str, text: str, **kind: Any) -> None:
        g.add_argument(f"--{name}", default=argparse.SUPPRESS, help=text, **kind)

    of_problem("shape", "points, such as 256x256x256 or 1000x800 (63x63x63)", type=sizes)
    of_problem("periodic", "dimensions that wrap around, such as xz (none)", type=axes)
    of_problem("dtype", "dtype of the fields (float64)", choices=tuple(TOL))
    of_problem("tol", "residual over right-hand side at which to stop (1e-8; float32: 1e-5)", type=not_negative)
    of_problem("niter", f"largest number of iterations ({DEFAULT.niter})", type=at_least(1))
    of_problem("check", f"iterations from one look at the residual to the next, even ({DEFAULT.check})", type=even)
    text = "iterations from one residual that is computed anew to the next; 0: never (100)"
    of_problem("replace", text, type=at_least(0))
    of_problem("preconditioner", "see below (none)", choices=tuple(PRECONDITIONERS))
    text = "right-hand side: manufactured, FILE.npy, FILE.h5:DATASET, or MODULE:FUNCTION of x, y and z (manufactured)"
    g.add_argument("--rhs", help=text)
    g = p.add_argument_group("how")
    g.add_argument("--backend", choices=("auto", "host", "cuda"), default="auto", help="where to run (%(default)s)")
    g.add_argument("--variant", choices=variants.TABLE, default=variants.DEFAULT, help="see below (%(default)s)")
    g = p.add_argument_group("checkpoints")
    text = "write a checkpoint at the end, at SIGUSR1, and at SIGTERM, which ends the solve"
    g.add_argument("--checkpoint", type=Path, metavar="FILE.h5", help=text)
    text = "write one also every S seconds (600; 0: never)"
    g.add_argument("--checkpoint-seconds", type=not_negative, default=CHECKPOINT_S, metavar="S", help=text)
    text = "go on from a checkpoint, on any number of PEs; without FILE, from the file of --checkpoint if it exists"
    g.add_argument("--restart", type=Path, nargs="?", const=True, metavar="FILE.h5", help=text)
    g = p.add_argument_group("results")
    text = "compare with the manufactured solution, compute the residual anew, and print PASS or FAIL"
    g.add_argument("--verify", action="store_true", help=text)
    g.add_argument("--must-converge", action="store_true", help="end with status 4 if --niter iterations do not converge")
    g.add_argument("--output", type=Path, metavar="FILE.h5", help="write u and the history of norms")
    g.add_argument("--plot", type=Path, metavar="FILE.png", help="draw u and the history of norms")
    return p


def parse(comm: Any, argv: list[str] | None = None) -> tuple[argparse.Namespace, Problem]:
    """The options and the problem, validated.  Collective.  Exits with status 2 on every rank if something is wrong.

    options.saved: the checkpoint to go on from, or None;  options.f: see ``right_sides.named``
    """
    name_program("poisson")
    options = parser(comm).parse_args(argv)
    options.saved = _saved(comm, options)
    try:
        given = _given(options)
        base = options.saved.problem if options.saved else DEFAULT
        for name in FIXED:
            if options.saved and given.get(name, getattr(base, name)) != getattr(base, name):
                raise ValueError(f"{options.restart} holds another --{name}: leave it out")
        problem = replace(base, **given)
        if problem.replace % problem.check:
            raise ValueError(f"--replace {problem.replace} is not a multiple of --check {problem.check}")
        error = _wrong_files(options) if comm.rank == 0 else ""
        if error := comm.bcast(error):
            raise ValueError(error)
        options.f = right_sides.named(options.rhs or "manufactured", problem)
    except ValueError as error:
        fail(comm, str(error))
    return options, problem


def _given(options: argparse.Namespace) -> dict[str, Any]:
    """The fields of a problem that the command line gives.  Raises ValueError."""
    given = {one.name: getattr(options, one.name) for one in fields(Problem) if hasattr(options, one.name)}
    file = right_sides.file_of(options.rhs) if options.rhs else None
    if file:
        shape = right_sides.shape_of(*file)
        if given.setdefault("shape", shape) != shape or len(shape) not in (2, 3):
            raise ValueError(f"--rhs {options.rhs} has the shape {shape}: leave --shape out, or give that of the file")
    if options.saved:
        if options.rhs:
            raise ValueError("--restart goes on with the right-hand side of its file: leave --rhs out")
    else:
        given.setdefault("tol", TOL[given.get("dtype", DEFAULT.dtype)])
        shape = given.get("shape", DEFAULT.shape)
        if "periodic" not in given:
            given["periodic"] = ""
    if "periodic" in given:
        n = len(given.get("shape", options.saved.problem.shape if options.saved else DEFAULT.shape))
        if set(given["periodic"]) - set("xyz"[:n]):
            raise ValueError(f"--periodic {given['periodic']}: the grid has {n} dimensions, {', '.join('xyz'[:n])}")
        given["periodic"] = tuple(axis in given["periodic"] for axis in "xyz"[:n])
    if options.verify and (options.rhs or "manufactured") != "manufactured":
        raise ValueError("--verify knows the solution of the manufactured right-hand side only: leave --rhs out")
    return given


def _wrong_files(options: argparse.Namespace) -> str:
    """What is wrong with the files to be written, or ""."""
    for name in ("checkpoint", "output", "plot"):
        path = getattr(options, name)
        if path and (reason := why_unwritable(path)):
            return f"--{name} {path} cannot be written: {reason}"
    return figure.missing() if options.plot else ""


def _saved(comm: Any, options: argparse.Namespace) -> Source | None:
    """The checkpoint to go on from; sets options.restart to its name."""
    if options.restart is True:  # the file of --checkpoint, which exists from the second run on
        if not options.checkpoint:
            fail(comm, "--restart without a file takes the one of --checkpoint: name a file for one of the two")
        there = comm.bcast(os.path.lexists(options.checkpoint) if comm.rank == 0 else None)
        options.restart = options.checkpoint if there else None
    if not options.restart:
        return None
    try:
        return Source(comm, options.restart)
    except ValueError as error:
        fail(comm, f"--restart {options.restart}: {error}; go on from an older checkpoint, or start without --restart")
