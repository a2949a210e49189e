"""Measure, tune, and explain what runs; without a command, report on this machine.  With or without mpirun."""

import argparse
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Any

from mpi4py import MPI

COMMANDS = ("report", "topology", "bench", "tune", "explain")  # modules of pennympi/command


class Parser(argparse.ArgumentParser):
    """A parser that runs on every rank and prints on rank 0 only."""

    def _print_message(self, message: str, file: Any = None) -> None:
        if MPI.COMM_WORLD.rank == 0:
            super()._print_message(message, file)


def main(argv: Sequence[str]) -> int:
    """Run one command; returns the exit status."""
    parser = Parser(prog="python -m pennympi", description=__doc__)
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    modules = {name: import_module(f"{__package__}.command.{name}") for name in COMMANDS}
    for name, module in modules.items():
        module.arguments(commands.add_parser(name, help=module.HELP, description=module.__doc__))
    args = parser.parse_args(argv or ["report"])
    return int(modules[args.command].run(args))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
