"""Types of command line arguments, and a parser that speaks once for all ranks."""

import argparse
import math
import sys
from collections.abc import Callable
from typing import Any, NoReturn

from ..outcome import BAD_ARGUMENTS


def fail(comm: Any, message: str, program: str = "jacobi") -> NoReturn:
    """One line on PE 0, status 2 on every rank.  Call it on all of them."""
    if comm.rank == 0:
        print(f"{program}: error: {message}", file=sys.stderr, flush=True)
    sys.exit(BAD_ARGUMENTS)


class Parser(argparse.ArgumentParser):
    """Errors and help once, not once a rank."""

    def __init__(self, comm: Any, **kwargs: Any):
        super().__init__(**kwargs)
        self._comm = comm

    def error(self, message: str) -> NoReturn:
        fail(self._comm, f"{message} (--help lists the options)")

    def _print_message(self, message: str, file: Any = None) -> None:
        if self._comm.rank == 0:
            super()._print_message(message, file)


def at_least(least: int) -> Callable[[str], int]:
    """A whole number that is not smaller, and fits into 32 bits."""

    def whole(text: str) -> int:
        try:
            value = int(text)
        except ValueError:
            raise argparse.ArgumentTypeError(f"{text!r} is not a whole number") from None
        if not least <= value < 2**31:
            raise argparse.ArgumentTypeError(f"{value} is not between {least} and 2147483647")
        return value

    return whole


def not_negative(text: str) -> float:
    """A finite number >= 0."""
    try:
        value = float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number") from None
    if not (value >= 0 and math.isfinite(value)):
        raise argparse.ArgumentTypeError(f"{text} is not a number >= 0")
    return value


def whole_numbers(text: str) -> list[int]:
    """Whole numbers >= 1 with commas between them, each once, in order."""
    return sorted({at_least(1)(part) for part in text.split(",")})
