"""The commands: python -m pennympi [COMMAND], under mpirun or not.  Without one: what this machine runs on."""

import argparse
import sys
from collections.abc import Sequence

from .command import bench, report

COMMANDS = {"report": report, "bench": bench}


def main(argv: Sequence[str]) -> int:
    """Run one command; its status."""
    parser = argparse.ArgumentParser(prog="python -m pennympi", description=__doc__)
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    for name, module in COMMANDS.items():
        module.arguments(commands.add_parser(name, help=module.HELP, description=module.__doc__))
    args = parser.parse_args(argv or ["report"])
    return int(COMMANDS[args.command].run(args))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
