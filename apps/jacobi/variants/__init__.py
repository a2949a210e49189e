"""The table of variants: one file and one row for each way to sweep and exchange, from the simplest to the fastest.

Read first: ../textbook.py, then steps.py and the variants in the order of the table.
"""

from dataclasses import dataclass
from typing import Any

from ..grid.fields import shape
from ..grid.problem import Problem
from ..norm import exact_sum
from .blocked import Blocked
from .mpi import Mpi
from .mpi_overlap import MpiOverlap
from .nccl import Nccl
from .nccl_overlap import NcclOverlap
from .nvshmem import Nvshmem
from .nvshmem_overlap import NvshmemOverlap
from .single import Single
from .steps import Steps

LIBRARY_HEAP_BYTES = 256 << 20  # for the library, beside fields that are too large for the default heap
DEFAULT_HEAP_FIELD_BYTES = 64 << 20  # the largest fields that the default heap is used for


@dataclass(frozen=True)
class Row:
    """One variant.

    name:     what --variant takes;  sentence: what --help says
    make:     class of the variant: (team, problem, **settings) -> its steps.  Collective
    takes:    names of the settings that ``make`` takes
    """

    name: str
    sentence: str
    make: type[Steps]
    takes: tuple[str, ...] = ()

    def refuse(self, team: Any, problem: Problem) -> str:
        """Why the variant cannot solve this problem on this team; "" if it can."""
        return exact_sum.refuse(problem) or self.make.refuse(team)

    def heap_bytes(self, problem: Problem, n_pes: int) -> int | None:
        """Size of a PE's symmetric heap; None, which is the library's default, for small fields."""
        rows, columns = shape(problem, n_pes, self.make.depth)
        need = self.make.n_fields * rows * columns * problem.item_bytes
        return None if need <= DEFAULT_HEAP_FIELD_BYTES else need + LIBRARY_HEAP_BYTES


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
