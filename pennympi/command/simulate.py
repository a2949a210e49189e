"""Run a program on simulated PEs, again and again, up to the first fault: a race, a wait that nothing ends, ...

python -m pennympi simulate program.py ...
python -m pennympi simulate --ranks 3 --seconds 60 -m package ...

The program calls pennympi.init() and needs no mpirun; each PE runs the whole program.  Only the first run prints.
"""

import argparse
import sys

from ..errors import Unsupported
from ..simulation import MOST_PES, simulate_program
from .arguments import real, whole
from .exit_status import FAILED, WRONG_USE, Ended
from .run import execute, problem, program_of

HELP = "run a program on simulated PEs, and find its races and endless waits"

__all__ = ["problem"]


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--ranks", type=whole(1, MOST_PES), default=4, help="number of PEs (default: %(default)s)")
    parser.add_argument(
        "--seconds", type=real(0.001, 1e6), default=20.0, help="length of the search (default: %(default)g s)"
    )
    parser.add_argument("--seed", help="seed that an error named, to repeat its schedule (default: a new seed)")
    parser.add_argument("program", nargs=argparse.REMAINDER, help="a file, or -m and a module; then its arguments")
    parser.add_argument("-m", dest="module", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)


def run(args: argparse.Namespace) -> int:
    """Simulate the program.  Raises Ended."""
    program, before = program_of(args), (sys.argv, list(sys.path))

    def on_pe() -> None:
        sys.argv, sys.path[:] = before[0], before[1]
        try:
            execute(program)
        except SystemExit as end:
            if end.code not in (None, 0):
                raise RuntimeError(f"the program exits with {end.code}") from None

    try:
        schedules = simulate_program(on_pe, args.ranks, args.seconds, args.seed)
    except Unsupported as error:
        raise Ended(str(error), WRONG_USE) from None
    except Exception as error:  # the program may raise any exception
        notes = "".join(f"\n  {note}" for note in getattr(error, "__notes__", ()))
        raise Ended(f"{type(error).__name__}: {error}{notes}", FAILED) from error
    print(f"{schedules} schedules of {args.ranks} PEs, and no fault")
    return 0
