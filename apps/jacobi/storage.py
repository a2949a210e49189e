"""Checkpoints and results: HDF5 files of the grid's field, whole or absent, which any number of PEs can read.

A file holds the dataset /field (ny - 2, nx - 2), the points that are not fixed; and as attributes the problem, the
number of iterations, and the history of norms as JSON [[iteration, norm], ...].  HDF5 keeps checksums of all of them.
"""

import json
import math
import re
from dataclasses import asdict, fields
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from ..program.outcome import Outcome
from .problem import CHOICES, RANGES, Problem
from .solver import Solver

FORMAT = "pennympi jacobi 6"  # files of earlier formats can't be read
WRITE_ERRORS = (OSError, RuntimeError)  # h5py raises RuntimeError if the disk is full when it closes a file


class Unreadable(ValueError):
    """A file from which no run can continue.  The message says why."""


def save(solver: Solver, outcome: Outcome, path: Path) -> str:
    """Write the field and its history.  An older file stays until the new file is on the disk.  Collective.

    Returns on every PE the reason why the file could not be written, or "".
    """
    attributes = asdict(solver.problem) | {"format": FORMAT, "iterations": outcome.iterations}
    error = ""
    try:
        solver.fields.grid.save(path, field=solver.fields.old, history=json.dumps(outcome.history), **attributes)
    except WRITE_ERRORS as failure:
        error = in_words(failure)
    return str(solver.team.comm.bcast(error))


def read(comm: Any, path: Path) -> tuple[Problem, Outcome]:
    """The problem and the outcome in a file.  Collective.  Raises Unreadable on all PEs.

    PE 0 checks every attribute and every point before any PE continues.
    """
    run, error = None, ""
    if comm.rank == 0:
        try:
            run = _checked(path)
        except Exception as failure:  # of any type, so that PE 0 always reports to the other PEs
            error = in_words(failure) or type(failure).__name__
    run, error = comm.bcast((run, error))
    if error or run is None:
        raise Unreadable(error)
    return run


def _checked(path: Path) -> tuple[Problem, Outcome]:
    import h5py  # slow, and most runs read no file

    if reason := _why_no_file(path):
        raise ValueError(reason)
    with h5py.File(path, locking=False) as file:
        if _attribute(file, "format", str) != FORMAT:
            raise ValueError(f"it is no file of the format {FORMAT!r}: another program or version wrote it")
        values = {item.name: _value(item.name, _attribute(file, item.name, item.type)) for item in fields(Problem)}
        problem = Problem(**values)
        _check_field(file.get("field"), problem)
        iterations, history = _attribute(file, "iterations", int), json.loads(_attribute(file, "history", str))
        if not 1 <= iterations <= problem.niter:
            raise ValueError(f"its iterations are {iterations}, and not from 1 to {problem.niter}")
        if not _is_history(history, iterations):
            raise ValueError("its history is not a list of iterations and their norms")
    part = np.array([k for k, _ in history]), np.array([norm for _, norm in history])
    return problem, Outcome(iterations, "iterations", [part] if history else [])


def _attribute(file: Any, name: str, kind: Any) -> Any:
    """An attribute of a file.  Raises ValueError unless the file has it, with the type ``kind``."""
    value = file.attrs.get(name)
    if isinstance(value, np.generic):
        value = value.decode() if isinstance(value, bytes) else value.item()
    if type(value) is not kind:
        raise ValueError(f"its attribute {name} is {'missing' if value is None else 'not of the type ' + kind.__name__}")
    return value


def _value(name: str, value: Any) -> Any:
    """A value of the problem.  Raises ValueError, or the error of the option with this name."""
    if name in RANGES:
        return RANGES[name](repr(value))
    if value not in CHOICES[name]:
        raise ValueError(f"its {name} {value!r} is none of {', '.join(CHOICES[name])}")
    return value


def _check_field(data: Any, problem: Problem) -> None:
    """Raise ValueError unless the dataset is a field of the problem, or OSError if a checksum is wrong."""
    shape = problem.ny - 2, problem.nx - 2
    wanted = f"{shape[0]} x {shape[1]} of {problem.dtype}, with checksums"
    if getattr(data, "shape", None) != shape or data.dtype != problem.dtype or not data.fletcher32:
        raise ValueError(f"its /field is not {wanted}")
    for part in data.iter_chunks():
        if not np.isfinite(data[part]).all():
            raise ValueError("its /field has points that are not finite")


def _is_history(history: Any, iterations: int) -> bool:
    pairs = isinstance(history, list) and all(isinstance(pair, list) and len(pair) == 2 for pair in history)
    if not pairs or not all(type(k) is int and type(norm) is float and 0 <= norm < math.inf for k, norm in history):
        return False
    rising = [-1, *(k for k, _ in history), iterations]
    return all(a < b for a, b in pairwise(rising))


def resume(solver: Solver, path: Path) -> None:
    """Set the solver to the field in a file; each PE reads its rows.  Collective.

    Raises Unreadable on every PE if a PE can't read the file.
    """
    solver.reset()
    grid, field = solver.fields.grid, solver.fields.old
    try:
        grid.load(path, field=field)
    except (OSError, ValueError) as error:
        raise Unreadable(in_words(error)) from None
    grid.plan_exchange(field)()
    solver.fields.settle()


def why_unwritable(path: Path) -> str:
    """The reason why a file cannot be written, or "", by a trial: permissions alone do not decide it."""
    try:
        if reason := _why_no_file(path):
            return reason
        part = path.with_name(f".{path.name}.part")
        part.touch()
        part.unlink()
    except OSError as error:
        return in_words(error)
    return ""


def _why_no_file(path: Path) -> str:
    if not path.exists() or path.is_file():
        return ""
    return "it is a folder" if path.is_dir() else "it is not a regular file"


def in_words(error: Exception) -> str:
    """An error as part of a line.  Of HDF5's long messages it keeps the system's error message."""
    reason = re.search("error message = '([^']+)'", str(error))
    return " ".join((reason[1] if reason else getattr(error, "strerror", None) or str(error)).split()).lower()
