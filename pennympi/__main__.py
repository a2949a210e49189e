"""Measure, tune, and explain which algorithm runs; without a command, report on this machine.  With or without mpirun."""

import argparse
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Any

from mpi4py import MPI

from . import __version__
from .command.exit_status import WRONG_USE, Ended
from .job.rendezvous import Meetings
from .settings import SettingError, checked_settings, setting

COMMANDS = (
    "report",
    "topology",
    "bench",
    "tune",
    "explain",
    "precompile",
    "run",
    "simulate",
)  # modules of pennympi/command


class Parser(argparse.ArgumentParser):
    """A parser that runs on every rank and prints on rank 0 only."""

    def _print_message(self, message: str, file: Any = None) -> None:
        if MPI.COMM_WORLD.rank == 0:
            super()._print_message(message, file)

    def error(self, message: str) -> Any:
        """End with one sentence instead of the usage."""
        self.exit(WRONG_USE, f"{self.prog}: {message} (--help lists commands and options)\n")


def main(argv: Sequence[str], program: str = "python -m pennympi") -> int:
    """Run a command; return the exit status.  program: the text by which the user started it"""
    parser = Parser(prog=program, description=__doc__)
    parser.add_argument("--version", action="version", version=f"pennympi {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    modules = {name: import_module(f"{__package__}.command.{name}") for name in COMMANDS}
    for name, module in modules.items():
        module.arguments(commands.add_parser(name, help=module.HELP, description=module.__doc__))
    args = parser.parse_args(argv or ["report"])
    try:
        _agree(getattr(modules[args.command], "problem", None), args)
        return int(modules[args.command].run(args))
    except Ended as end:
        if MPI.COMM_WORLD.rank == 0:
            print(f"{parser.prog} {args.command}: {end}", file=sys.stderr, flush=True)
        return end.status


def _agree(problem: Any, args: argparse.Namespace) -> None:
    """Raise Ended on every rank if a setting or an argument is wrong on one.  problem: function of args, or None"""
    timeout_s = 60.0
    try:
        checked_settings()
        timeout_s = setting("PENNYMPI_TIMEOUT_S")
        reason = problem(args) if problem else ""
    except SettingError as error:
        reason = str(error)
    reasons = Meetings(MPI.COMM_WORLD, timeout_s).gather(reason, "comparison of arguments")
    if reason := next(filter(None, reasons), ""):
        raise Ended(reason, WRONG_USE)


def console() -> int:
    """The command `pennympi`."""
    return main(sys.argv[1:], "pennympi")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
