"""The table of variants: one file and one row for each way to sweep and exchange, from the simplest to the fastest.

Read first: ../textbook.py, then steps.py and the variants in the order of the table.
"""

from .blocked import Blocked
from .mpi import Mpi
from .mpi_overlap import MpiOverlap
from .nccl import Nccl
from .nccl_overlap import NcclOverlap
from .nvshmem import Nvshmem
from .nvshmem_overlap import NvshmemOverlap
from .row import Row
from .single import Single

DEFAULT = "nvshmem_overlap"
ROWS = (
    Row("single", "one PE alone", Single),
    Row("mpi", "sweep, then MPI_Sendrecv of the edge rows", Mpi),
    Row("mpi_overlap", "edge rows on streams of their own, exchanged by MPI while the inner rows run", MpiOverlap),
    Row("nccl", "grouped sends and receives after the sweep (GPUs)", Nccl),
    Row("nccl_overlap", "edge rows and their exchange by NCCL beside the inner rows (GPUs)", NcclOverlap),
    Row("nvshmem", "puts on the stream, then a barrier", Nvshmem),
    Row("nvshmem_overlap", "edge rows, puts and signals to the neighbours beside the inner rows", NvshmemOverlap),
    Row("blocked", "several sweeps a pass over memory, the exchange inside the kernel", Blocked, ("sweeps",)),
)
TABLE = {row.name: row for row in ROWS}
