"""Printing that a full disk or a closed pipe does not end: the solve goes on, and its exit status tells."""

import os
import sys
from typing import Any

_lost = ""
_name = "pennympi"


def name_program(name: str) -> None:
    """Set the name that errors begin with."""
    global _name
    _name = name


def say(*lines: str, file: Any = None) -> None:
    """Print lines to stdout, or to ``file``.  When that fails, say so once on stderr; later lines are dropped."""
    global _lost
    stream = file or sys.stdout
    try:
        print(*lines, sep="\n", file=stream, flush=True)
    except OSError as error:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())  # what the stream still holds would fail again when the program ends
        os.close(nowhere)
        _lost = f"what it prints could not be written ({(error.strerror or str(error)).lower()})"
        if stream is not sys.stderr:
            complain(_lost)


def complain(message: str) -> None:
    """Print an error as one line on stderr."""
    say(f"{_name}: error: {message}", file=sys.stderr)


def lost() -> bool:
    """Whether some lines could not be printed."""
    return bool(_lost)
