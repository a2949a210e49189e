"""Validation of options that depend on one another, on the problem, or on files."""

import os
from argparse import Namespace
from pathlib import Path

from ...program import figure
from ...program.whole_files import why_unwritable
from ..grid.problem import Problem
from ..grid.slab import slabs
from ..norm import exact_sum
from ..storage import restart, xdmf
from ..variants import DEFAULT, TABLE, row_of

FILES = ("json", "output", "plot", "checkpoint")
FIELDS = ("output", "checkpoint")  # with an XDMF file beside them


def first_error(options: Namespace, problem: Problem, n_pes: int) -> str:
    """Why the run cannot be done, or "".  It tries whether the files can be written."""
    try:
        least_rows = min(slab.rows for slab in slabs(problem.ny, n_pes))
    except ValueError as error:
        return str(error)
    return (
        exact_sum.refuse(problem)
        or _wrong_variant(options, problem, least_rows)
        or _contradiction(options, problem)
        or _wrong_files(options, problem)
    )


def _wrong_variant(options: Namespace, problem: Problem, least_rows: int) -> str:
    if options.variant and problem.method != "jacobi":
        return f"--method {problem.method} has only one variant: leave --variant out"
    takes = row_of(problem, options.variant or DEFAULT).takes
    for name in ("norm_by", "sweeps"):
        if getattr(options, name) is not None and name not in takes:
            having = " and ".join(row.name for row in TABLE.values() if name in row.takes)
            return f"--{name.replace('_', '-')} is for --variant {having}"
    if options.sweeps and options.sweeps > least_rows:
        return f"--sweeps {options.sweeps} takes as many rows on each PE, and there are {least_rows}: use fewer PEs"
    return ""


def _contradiction(options: Namespace, problem: Problem) -> str:
    if not options.checkpoint and (options.checkpoint_every or options.checkpoint_seconds is not None):
        return "--checkpoint-every and --checkpoint-seconds need --checkpoint FILE.h5"
    if options.saved and options.saved.outcome.iterations >= problem.niter:
        done = options.saved.outcome.iterations
        return f"{options.restart} has {done} iterations already: give a larger --niter than {problem.niter}"
    if options.csv and options.profile:
        return "--csv prints one line, and --profile a table: leave one of them out"
    if options.plot and figure.missing():
        return figure.missing()
    return ""


def _wrong_files(options: Namespace, problem: Problem) -> str:
    named = [(name, getattr(options, name)) for name in FILES if getattr(options, name)]
    for name, path in named:
        needed = len(restart.names(problem)) * problem.field_bytes if name in FIELDS else 0
        if reason := why_unwritable(path, needed):
            return f"--{name} {path} cannot be written: {reason}"
    beside = [xdmf.name_of(path) for name, path in named if name in FIELDS]
    read = [options.restart] if options.restart else []
    for name, path in named:
        others = [other for one, other in named if one != name] + beside + (read if name not in FIELDS else [])
        if _same(path, others):
            return f"--{name} {path} is the name of another file of this run: take another name"
    if len(beside) == 2 and _same(beside[0], beside[1:]):
        return f"--output and --checkpoint would both have {beside[0]} beside them: take another name for one of them"
    return ""


def _same(path: Path, others: list[Path]) -> bool:
    return os.path.realpath(path) in [os.path.realpath(other) for other in others]
