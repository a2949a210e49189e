"""Run an unchanged mpi4py program whose MPI.COMM_WORLD and MPI.COMM_SELF are ``pennympi.Comm``, as a first try.

mpirun -np 4 python -m pennympi run program.py ...
mpirun -np 4 python -m pennympi run -m package ...
"""

import argparse

from mpi4py import MPI

from ..mpi.comm import Comm
from .program import execute
from .program import problem as problem

COMM_WORLD, COMM_SELF = MPI.COMM_WORLD, MPI.COMM_SELF  # pickle finds mpi4py's own here, by their names
HELP = "run an mpi4py program whose MPI.COMM_WORLD is a pennympi.Comm"


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("program", nargs=argparse.REMAINDER, help="a file, or -m and a module; then its arguments")


def run(args: argparse.Namespace) -> int:
    """Run the program in this process."""
    vars(MPI).update(COMM_WORLD=Comm(COMM_WORLD), COMM_SELF=Comm(COMM_SELF))
    execute(args.program)
    return 0
