"""Writing the state of a solve, in the same way for a checkpoint and for a result."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from ...program.outcome import Outcome
from ...program.run_on_pe0 import run_on_pe0
from ...program.whole_files import WRITE_ERRORS, in_words
from ..grid.problem import Problem
from . import xdmf
from .files import FieldFile
from .gather import Sink, gather, gather_checksums


class Writer:
    """A field file that keeps its first error, since PE 0 must go on receiving rows after it.

    error: why the file could not be written, or ""
    """

    def __init__(self, path: Path, problem: Problem):
        self.error, self._path, self._problem = "", path, problem
        self._file: FieldFile | None = None
        try:
            self._file = FieldFile(path, problem)
        except WRITE_ERRORS as failure:
            self.error = in_words(failure)

    def _attempt(self, work: Callable[[FieldFile], None]) -> None:
        if self._file is None or self.error:
            return
        try:
            work(self._file)
        except WRITE_ERRORS as failure:
            self.error = in_words(failure)
            self._file.discard()

    def take(self, name: str) -> Sink:
        """A sink that writes the rows of dataset ``name``."""
        return lambda first, rows: self._attempt(lambda file: file.write(name, first, rows))

    def add_checksums(self, name: str, sums: Any) -> None:
        """Write the checksums (ny-2,) of the rows 1..ny-2 of dataset ``name``."""
        self._attempt(lambda file: file.add_checksums(name, sums))

    def finish(self, outcome: Outcome) -> None:
        """Rename the file into place, and write the XDMF file beside it."""
        self._attempt(lambda file: file.finish(outcome))
        self._attempt(lambda _: xdmf.write(self._path, self._problem, outcome.iterations))


def save(solver: Any, outcome: Outcome, path: Path | None, sinks: Sequence[Sink] = ()) -> str:
    """Pass the field to PE 0's sinks, and write it with its history to ``path``, with an XDMF file.  Collective.

    An older file stays until the new one is on the disk.
    Returns why the file could not be written, or "", on every PE.
    """
    comm, problem = solver.team.comm, solver.problem
    writer = Writer(path, problem) if path and comm.rank == 0 else None
    states = {"field": solver.rows}
    # After convergence, the sweep that was rolled back has overwritten Chebyshev's field before the last.
    if path and problem.method == "chebyshev" and outcome.reason != "converged":
        states["previous"] = solver.steps.previous_rows
    for name, rows_of in states.items():
        sums = gather_checksums(solver, rows_of) if path else None
        gather(solver, [*(sinks if name == "field" else ()), *([writer.take(name)] if writer else [])], rows_of)
        if writer:
            writer.add_checksums(name, sums)
    if writer:
        run_on_pe0(comm, lambda: writer.finish(outcome))  # the disk may take longer than a deadline
    else:
        run_on_pe0(comm, lambda: None)
    return comm.bcast(writer.error if writer else "")
