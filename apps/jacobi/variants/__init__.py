"""The table of variants: one row a file, in the order of the course."""

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
        Row("mpi_overlap", "edge rows on streams of their own, swapped by MPI while the inner rows run", MpiOverlap),
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
        Row("graph", "the same, several sweeps in a CUDA graph", Graph, "GPUs"),
        Row("persistent", "the whole time loop in one kernel", Persistent),
        Row("blocked", "temporal blocking: several sweeps a pass over memory", Blocked, takes=("sweeps",)),
    )
}

# Methods other than Jacobi's have one variant each, which is not chosen by name.
METHODS = {"chebyshev": Row("chebyshev", "the same with Chebyshev's weights", Chebyshev)}


def row_of(problem: Problem, variant: str) -> Row:
    """What solves this problem."""
    return TABLE[variant] if problem.method == "jacobi" else METHODS[problem.method]
