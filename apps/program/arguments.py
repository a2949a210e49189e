"""Types of options, and a parser that prints on PE 0 only."""

import argparse
import math
import sys
from collections.abc import Callable
from typing import Any, NoReturn

from .outcome import BAD_ARGUMENTS

MOST = 2**31 - 1  # the largest whole number


def fail(comm: Any, message: str, status: int = BAD_ARGUMENTS) -> NoReturn:
    """Print a line on PE 0 and exit.  Collective."""
    if comm.rank == 0:
        print(f"error: {message}", file=sys.stderr, flush=True)
    sys.exit(status)


class Parser(argparse.ArgumentParser):
    """Prints errors and help on PE 0 only."""

    def __init__(self, comm: Any, **kwargs: Any):
        super().__init__(**kwargs)
        self._comm = comm

    def error(self, message: str) -> NoReturn:
        fail(self._comm, f"{message} (--help lists the options)")

    def _print_message(self, message: str, file: Any = None) -> None:
        if self._comm.rank == 0:
            super()._print_message(message, file)


def at_least(least: int) -> Callable[[str], int]:
    """The type of a whole number from ``least`` to MOST."""

    def whole(text: str) -> int:
        try:
            value = int(text)
        except ValueError:
            raise argparse.ArgumentTypeError(f"{text!r} is not a whole number") from None
        if not least <= value <= MOST:
            raise argparse.ArgumentTypeError(f"{value} is not between {least} and {MOST}")
        return value

    return whole


def not_negative(text: str) -> float:
    """The type of a finite number >= 0."""
    try:
        value = float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number") from None
    if not (value >= 0 and math.isfinite(value)):
        raise argparse.ArgumentTypeError(f"{text} is not a number >= 0")
    return value
