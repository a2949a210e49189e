"""Checkpoints, from which a solve goes on with the same bits on any number of PEs, and files of results."""

import os
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from ..program.device import array_module, to_numpy
from ..program.outcome import Outcome
from ..program.run_on_pe0 import run_on_pe0
from ..program.whole_files import WRITE_ERRORS, in_words, into_place, part_name
from .problem import Problem

FORMAT = "pennympi poisson 1"
READ_ERRORS = (OSError, RuntimeError, KeyError, TypeError, ValueError, AttributeError)  # of h5py, too
STATE = ("u", "f", "r", "p")


def save(solver: Any, outcome: Outcome, path: Path, state: bool) -> str:
    """Write u, or with ``state`` all that a restart needs, with the history of norms.  Collective.

    An older file stays until the new one is on the disk.  Without ``state`` it overwrites r.
    Returns why the file could not be written, or "", on every PE.
    """
    steps, grid, arrays = solver.steps, solver.grid, solver.fields
    facts = {"unit": solver.unit, "norm_of_f": solver.norm_of_f}
    if state:
        written = {"u": arrays["u"], "f": arrays["f"], "r": arrays["r"], "p": arrays[steps.newest()]}
    else:
        arrays.set("r", solver.u())
        written = {"u": arrays["r"]}
    solver.team.synchronize()
    part = part_name(path)
    error = ""
    try:
        grid.save(part, **written)
    except OSError as failure:
        error = in_words(failure)
    totals = to_numpy(steps.sums.totals[-2:])
    if not error and solver.team.me == 0:
        error = _finish(solver.problem, outcome, part, path, facts | ({"totals": totals} if state else {}))
    run_on_pe0(solver.team.comm, lambda: None)
    return str(solver.team.comm.bcast(error))


def _finish(problem: Problem, outcome: Outcome, part: Path, path: Path, facts: dict[str, Any]) -> str:
    """Add the attributes and the history, and rename the file into place.  Returns why that failed, or ""."""
    try:
        with h5py.File(part, "r+", locking=False) as file:
            file.attrs.update(asdict(problem) | facts)
            file.attrs.update({"format": FORMAT, "iterations": outcome.iterations, "reason": outcome.reason})
            file["residual/iteration"] = np.array([iteration for iteration, _ in outcome.history], np.int64)
            file["residual/norm"] = np.array([norm for _, norm in outcome.history], np.float64)
        into_place(part, path)
    except WRITE_ERRORS as failure:
        part.unlink(missing_ok=True)
        return in_words(failure)
    return ""


class Source:
    """A checkpoint: its problem, its outcome so far, and what its fields need to go on."""

    def __init__(self, comm: Any, path: Path):
        """Read all but the fields.  Collective.  Raises ValueError that says what is wrong, the same on all PEs."""
        self.path = path
        found = comm.bcast(_read(path) if comm.rank == 0 else None)
        if isinstance(found, str):
            raise ValueError(found)
        self.problem, self.outcome, self._facts = found

    def resume(self, solver: Any) -> None:
        """Set a solver to the state of the file.  Collective.  Raises OSError, ValueError on every PE."""
        steps, arrays = solver.steps, solver.fields
        names = dict(zip(STATE, ("u", "f", "r", "even"), strict=True))
        solver.grid.load(self.path, **{name: arrays[of] for name, of in names.items()})
        solver.unit, solver.norm_of_f = self._facts["unit"], self._facts["norm_of_f"]
        steps.sums.totals[-2:] = array_module(solver.team).asarray(self._facts["totals"])
        solver.team.synchronize()
        solver.resume()


def _read(path: Path) -> Any:
    """(problem, outcome, facts), or what is wrong with the file."""
    try:
        if not os.path.isfile(path):
            return "there is no such file"
        with h5py.File(path, "r", locking=False) as file:
            if file.attrs.get("format") != FORMAT:
                return f"its format is not {FORMAT!r}"
            if not set(STATE) <= set(file):
                return "it is the result of a solve, not a checkpoint"
            values = {one.name: file.attrs[one.name] for one in fields(Problem)}
            values["shape"] = tuple(map(int, values["shape"]))
            values["periodic"] = tuple(map(bool, values["periodic"]))
            plain = {name: one.item() if isinstance(one, np.generic) else one for name, one in values.items()}
            history = zip(file["residual/iteration"][:].tolist(), file["residual/norm"][:].tolist(), strict=True)
            outcome = Outcome(int(file.attrs["iterations"]), "iterations", list(history))
            facts = {"unit": float(file.attrs["unit"]), "norm_of_f": float(file.attrs["norm_of_f"])}
            return Problem(**plain), outcome, facts | {"totals": file.attrs["totals"]}
    except READ_ERRORS as error:
        return f"it is damaged, or no checkpoint ({in_words(error)})"
