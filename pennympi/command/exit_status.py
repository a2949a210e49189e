"""The end of a command that can't do its task: a sentence, on rank 0, and the same status on every rank."""

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from mpi4py import MPI

from .. import init
from ..errors import PeerTimeout, PennympiError
from ..files import FileError, why, why_unwritable
from ..job import ending
from ..notice import say
from ..team import Team

WRONG_USE, FAILED = 2, 1  # exit statuses


class Ended(Exception):
    """The end of the command with this sentence and this status.  Every rank raises it."""

    def __init__(self, sentence: str, status: int):
        super().__init__(sentence)
        self.status = status


@contextmanager
def started(**arguments: Any) -> Iterator[Team]:
    """The team of ``init(**arguments)``, finalized at the end.  Collective.  Raises Ended for an error of ``init``."""
    try:
        team = init(**arguments)
    except PeerTimeout:
        raise
    except (PennympiError, TypeError, ValueError) as error:
        raise Ended(str(error), WRONG_USE) from None
    with team:
        try:
            yield team
        except Ended:  # every PE raises it
            team.finalize()
            raise


def check_writable(path: Path | None) -> str:
    """The reason why rank 0 can't write a file, as a sentence, or ""; "" on other ranks."""
    reason = why_unwritable(path) if path and MPI.COMM_WORLD.rank == 0 else ""
    return f"{path} cannot be written: {reason}; give another path" if reason else ""


def written(team: Team, write: Callable[[], None]) -> None:
    """Call ``write`` on PE 0, the only PE that writes files.  Collective.  Raises Ended on every PE if that fails."""
    problem = ""
    if team.me == 0:
        try:
            write()
        except FileError as error:
            problem = str(error)
    if problem := team.gather(problem)[0]:
        raise Ended(problem, FAILED)


def show(text: str) -> None:
    """Print to stdout, on rank 0.  If that fails, this process and its job end with one sentence."""
    if MPI.COMM_WORLD.rank != 0:
        return
    try:
        print(text, flush=True)
    except OSError as error:
        sentence = f"python -m pennympi: stdout cannot be written: {why(error)}"
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # else Python fails again when it flushes
        if MPI.COMM_WORLD.size == 1:
            say(sentence)
            raise SystemExit(FAILED) from None
        ending.end(lambda: say(sentence))
