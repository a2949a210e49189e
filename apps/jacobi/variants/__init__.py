"""The table of variants: one row a file, in the order of the course."""

from ..problem import Problem
from .chebyshev import Chebyshev
from .nvshmem_overlap import NvshmemOverlap
from .row import Row

DEFAULT = "nvshmem_overlap"
TABLE = {
    row.name: row
    for row in (
        Row(
            "nvshmem_overlap", "edge rows and puts on a high-priority stream, signals between neighbours", NvshmemOverlap
        ),
    )
}

# Methods other than Jacobi's have one variant each, which is not chosen by name.
METHODS = {"chebyshev": Row("chebyshev", "the same with Chebyshev's weights", Chebyshev)}


def row_of(problem: Problem, variant: str) -> Row:
    """What solves this problem."""
    return TABLE[variant] if problem.method == "jacobi" else METHODS[problem.method]
