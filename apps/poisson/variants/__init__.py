"""The table of variants: one file and one row for each way to exchange halos and to sum, from the simplest one on.

Read first: steps.py, then the variants in the order of the table.
"""

from dataclasses import dataclass
from typing import Any

from ..preconditioners import refuse as refuse_preconditioner
from ..problem import Problem
from .graph import Graph
from .mpi import Mpi
from .nccl import Nccl
from .persistent import Persistent
from .steps import Steps
from .stream import Stream

DEFAULT = "stream"


@dataclass(frozen=True)
class Row:
    """A variant: what --variant takes, what --help says of it, its class, and what it needs, "" if it runs anywhere."""

    name: str
    sentence: str
    make: type[Steps]
    needs: str = ""

    def refuse(self, team: Any, problem: Problem) -> str:
        """Why the variant can't solve this problem on this team; "" if it can."""
        return refuse_preconditioner(problem) or self.make.refuse(team, problem)


TABLE = {
    row.name: row
    for row in (
        Row("mpi", "MPI_Sendrecv of packed faces, MPI_Allreduce", Mpi),
        Row("nccl", "grouped sends and receives of packed faces, ncclAllReduce", Nccl, "GPUs"),
        Row("stream", "plans of this library on a stream", Stream),
        Row("graph", "as stream, a round of iterations in a CUDA graph", Graph, "GPUs"),
        Row("persistent", "a round of iterations in one kernel, sums and halos included", Persistent, "none or jacobi"),
    )
}
