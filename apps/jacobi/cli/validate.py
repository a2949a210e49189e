"""Validation of options that depend on one another, on the problem, or on files."""

from argparse import Namespace

from ..grid.problem import Problem
from ..grid.slab import slabs
from ..norm import exact_sum
from ..report import plot
from ..storage.files import why_unwritable
from ..variants import DEFAULT, TABLE, row_of

FILES = ("json", "output", "plot", "checkpoint")


def first_error(options: Namespace, problem: Problem, n_pes: int) -> str:
    """Why the run cannot be done, or "".  It tries whether the files can be written."""
    try:
        slabs(problem.ny, n_pes)
    except ValueError as error:
        return str(error)
    if reason := exact_sum.refuse(problem):
        return reason
    if options.variant and problem.method != "jacobi":
        return f"--method {problem.method} has only one variant: leave --variant out"
    takes = row_of(problem, options.variant or DEFAULT).takes
    for name in ("norm_by", "sweeps"):
        if getattr(options, name) is not None and name not in takes:
            having = " and ".join(row.name for row in TABLE.values() if name in row.takes)
            return f"--{name.replace('_', '-')} is for --variant {having}"
    if not options.checkpoint and (options.checkpoint_every or options.checkpoint_seconds):
        return "--checkpoint-every and --checkpoint-seconds need --checkpoint FILE.h5"
    if options.saved and options.saved.outcome.iterations >= problem.niter:
        done = options.saved.outcome.iterations
        return f"{options.restart} has {done} iterations already: give a larger --niter than {problem.niter}"
    if options.plot and plot.missing():
        return plot.missing()
    named = [(name, getattr(options, name)) for name in FILES if getattr(options, name)]
    for name, path in named:
        reason = why_unwritable(path)
        if reason:
            return f"--{name} {path} cannot be written: {reason}"
        if [other for _, other in named].count(path) > 1:
            return f"two results cannot both be written to {path}"
    return ""
