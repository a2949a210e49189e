"""The table of variants: one file and one row for each way to sweep and exchange, from the simplest to the fastest.

Read first: ../textbook.py, then steps.py and the variants in the order of the table.
"""

from ..grid.problem import Problem
from .blocked import Blocked
from .chebyshev import Chebyshev
from .device import Device
from .graph import Graph
from .mpi import Mpi
from .mpi_overlap import MpiOverlap
from .nccl import Nccl
from .nccl_overlap import NcclOverlap
from .nvshmem import Nvshmem
from .nvshmem_overlap import NvshmemOverlap
from .persistent import Persistent
from .row import Row
from .single import Single

DEFAULT = "nvshmem_overlap"
TABLE = {
    row.name: row
    for row in (
        Row("single", "one PE alone", Single, "one PE"),
        Row("mpi", "sweep, then MPI_Sendrecv of the edge rows", Mpi),
        Row("mpi_overlap", "edge rows on streams of their own, exchanged by MPI while the inner rows run", MpiOverlap),
        Row("nccl", "grouped sends and receives behind the sweep", Nccl, "GPUs", ("norm_by",)),
        Row(
            "nccl_overlap",
            "edge rows and their exchange by NCCL beside the inner rows",
            NcclOverlap,
            "GPUs",
            ("norm_by",),
        ),
        Row("nvshmem", "puts on the stream, then a barrier", Nvshmem),
        Row("nvshmem_overlap", "edge rows, puts and signals to the neighbours beside the inner rows", NvshmemOverlap),
        Row("device", "puts and signals inside the kernel", Device),
        Row("graph", "as device, several sweeps in a CUDA graph", Graph, "GPUs"),
        Row("persistent", "the whole time loop in one kernel", Persistent),
        Row("blocked", "temporal blocking: several sweeps a pass over memory", Blocked, takes=("sweeps",)),
    )
}

# Each other method has one variant, which --method chooses.
METHODS = {"chebyshev": Row("chebyshev", "as nvshmem_overlap, with Chebyshev's weights", Chebyshev)}


def row_of(problem: Problem, variant: str) -> Row:
    """The row that solves a problem; variant: the name of one for Jacobi's method."""
    return TABLE[variant] if problem.method == "jacobi" else METHODS[problem.method]
