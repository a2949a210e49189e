"""Run an unchanged mpi4py program whose MPI.COMM_WORLD and MPI.COMM_SELF are ``pennympi.Comm``, as a first try.

mpirun -np 4 python -m pennympi run program.py ...
mpirun -np 4 python -m pennympi run -m package ...
"""

import argparse
import os
import runpy
import sys
from pathlib import Path

from ..mpi.comm import stand_in_for_mpi4py

HELP = "run an mpi4py program whose MPI.COMM_WORLD is a pennympi.Comm"


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("program", nargs=argparse.REMAINDER, help="a file, or -m and a module; then its arguments")
    # A remainder does not begin with an option, so -m needs its own entry.
    parser.add_argument("-m", dest="module", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)


def program_of(args: argparse.Namespace) -> list[str]:
    """A file, or -m and a module; then its arguments."""
    return args.program if args.module is None else ["-m", *args.module, *args.program]


def problem(args: argparse.Namespace) -> str:
    """The problem of arguments that are valid one by one, as a sentence, or ""."""
    first, *arguments = program_of(args) or [""]
    if first == "-m" and arguments or Path(first).is_file():
        return ""
    return f"program {first!r} is no file: give a file, or -m and a module"


def run(args: argparse.Namespace) -> int:
    """Run the program in this process."""
    stand_in_for_mpi4py()
    return execute(program_of(args))


def execute(program: list[str]) -> int:
    """Run a file, or -m and a module, with its arguments.  Returns 0."""
    if program[0] == "-m":
        sys.argv = program[1:]
        sys.path.insert(0, os.getcwd())
        runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
    else:
        sys.argv = program
        sys.path.insert(0, str(Path(sys.argv[0]).resolve().parent))
        runpy.run_path(sys.argv[0], run_name="__main__")
    return 0
