"""Checkpoints and results: HDF5 files of the grid's field, whole or absent, which any number of PEs read again.

A file holds the dataset /field (ny - 2, nx - 2), the points that are not fixed; and as attributes the problem, the
iterations, and the history of norms as JSON [[iteration, norm], ...].
"""

import json
import re
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

from ..program.outcome import Outcome
from .problem import Problem
from .solver import Solver

FORMAT = "pennympi jacobi 5"  # files of earlier ones can't be read
WRITE_ERRORS = (OSError, RuntimeError)  # h5py raises RuntimeError if it meets a full disk when it closes a file
READ_ERRORS = (*WRITE_ERRORS, KeyError, TypeError, ValueError)


def save(solver: Solver, outcome: Outcome, path: Path) -> str:
    """Write the field and its history; an older file stays until the new one is on the disk.  Collective.

    Returns why the file could not be written, or "", on every PE.
    """
    facts = asdict(solver.problem) | {"format": FORMAT, "iterations": outcome.iterations}
    error = ""
    try:
        solver.fields.grid.save(path, field=solver.fields.old, history=json.dumps(outcome.history), **facts)
    except WRITE_ERRORS as failure:
        error = in_words(failure)
    return str(solver.team.comm.bcast(error))


def read(comm: Any, path: Path) -> tuple[Problem, Outcome]:
    """What a file solves, and how far.  Collective.  Raises ValueError that says what is wrong, the same on all PEs."""
    found, error = None, ""
    if comm.rank == 0:
        try:
            import h5py  # which takes a while, and most runs read no file

            with h5py.File(path, locking=False) as file:
                found = _facts(file)
        except READ_ERRORS as failure:
            error = in_words(failure)
    found, error = comm.bcast((found, error))
    if error or found is None:
        raise ValueError(error)
    return found


def _facts(file: Any) -> tuple[Problem, Outcome]:
    if file.attrs.get("format") != FORMAT:
        raise ValueError(f"it is no file of the format {FORMAT!r}: another program or version wrote it")
    kinds = {one.name: one.type for one in fields(Problem)}
    problem = Problem(**{name: kind(file.attrs[name]) for name, kind in kinds.items()})  # type: ignore[operator]
    data, shape = file["field"], (problem.ny - 2, problem.nx - 2)
    if data.shape != shape or data.dtype != problem.dtype:
        raise ValueError(f"its /field is not {shape[0]} x {shape[1]} of {problem.dtype}")
    history = [(iteration, norm) for iteration, norm in json.loads(file.attrs["history"])]
    return problem, Outcome(int(file.attrs["iterations"]), "iterations", history)


def resume(solver: Solver, path: Path) -> None:
    """Set the solver to the field in a file, of which each PE reads its rows.  Collective."""
    solver.reset()
    grid, field = solver.fields.grid, solver.fields.old
    grid.load(path, field=field)
    grid.plan_exchange(field)()
    solver.fields.settle()


def why_unwritable(path: Path) -> str:
    """Why a file cannot be written there, or "".  It tries, because permissions alone do not decide it."""
    try:
        if path.exists() and not path.is_file():
            return "it is a folder" if path.is_dir() else "it is not a regular file, and would be replaced by one"
        part = path.with_name(f".{path.name}.part")
        part.touch()
        part.unlink()
    except OSError as error:
        return in_words(error)
    return ""


def in_words(error: Exception) -> str:
    """An error as part of one line.  HDF5's messages are long; the reason that the system gave is taken from them."""
    reason = re.search("error message = '([^']+)'", str(error))
    return " ".join((reason[1] if reason else getattr(error, "strerror", None) or str(error)).split()).lower()
