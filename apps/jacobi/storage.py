"""Checkpoints and results: HDF5 files of the grid's field, whole or absent, which any number of PEs read again.

A file holds the dataset /field (ny - 2, nx - 2), the points that are not fixed; and as attributes the problem, the
iterations, and the history of norms as JSON [[iteration, norm], ...].
"""

import json
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

from ..program.outcome import Outcome
from ..program.whole_files import WRITE_ERRORS, in_words
from .problem import Problem
from .solver import Solver

FORMAT = "pennympi jacobi 5"  # files of earlier ones can't be read
READ_ERRORS = (OSError, RuntimeError, KeyError, TypeError, ValueError)  # of h5py, too


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
