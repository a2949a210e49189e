"""Writing the state of a solve: the same way for a checkpoint and for the result."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from ..grid.problem import Problem
from ..outcome import Outcome
from . import xdmf
from .files import WRITE_ERRORS, FieldFile
from .gather import Sink, gather
from .run_on_pe0 import run_on_pe0


class Writer:
    """A field file that keeps its first error for later: while rows are on their way, no PE may drop out."""

    def __init__(self, path: Path, problem: Problem):
        self.complaint, self._path, self._problem = "", path, problem
        self._file: FieldFile | None = None
        try:
            self._file = FieldFile(path, problem)
        except WRITE_ERRORS as error:
            self.complaint = str(error)

    def _attempt(self, work: Callable[[FieldFile], None]) -> None:
        if self._file is None or self.complaint:
            return
        try:
            work(self._file)
        except WRITE_ERRORS as error:
            self.complaint = str(error)
            self._file.discard()

    def take(self, name: str) -> Sink:
        """What writes the rows of dataset ``name``."""
        return lambda first, rows: self._attempt(lambda file: file.write(name, first, rows))

    def finish(self, outcome: Outcome) -> None:
        """Rename into place, and describe it for ParaView."""
        self._attempt(lambda file: file.finish(outcome))
        self._attempt(lambda _: xdmf.write(self._path, self._problem, outcome.iterations))


def save(solver: Any, outcome: Outcome, path: Path | None, sinks: Sequence[Sink] = ()) -> str:
    """Hand the field to the sinks, and write it with its history to ``path`` and an XDMF file beside it.  Collective.

    sinks: PE 0's count.  What had the name before stays until all is on the disk.
    Returns why it could not be written, or "", on every PE.
    """
    comm, problem = solver.team.comm, solver.problem
    writer = Writer(path, problem) if path and comm.rank == 0 else None
    gather(solver, [*sinks, *([writer.take("field")] if writer else [])])
    # The sweep that is forgotten after convergence has overwritten Chebyshev's field before the last.
    if path and problem.method == "chebyshev" and outcome.reason != "converged":
        gather(solver, [writer.take("previous")] if writer else [], solver.steps.previous_rows)
    if writer:
        run_on_pe0(comm, lambda: writer.finish(outcome))  # the others have no deadline while PE 0 waits for its disk
    else:
        run_on_pe0(comm, lambda: None)
    return comm.bcast(writer.complaint if writer else "")
