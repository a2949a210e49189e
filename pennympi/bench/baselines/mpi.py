"""MPI's collectives, through mpi4py, on arrays in host memory."""

from typing import Any

import numpy as np
from mpi4py import MPI

from ...arrays.dtypes import DType
from ...team import Team
from ..cases import Case, partner
from ..implementation import Call, Implementation

_OPS = {"sum": MPI.SUM, "prod": MPI.PROD, "min": MPI.MIN, "max": MPI.MAX}


class Mpi(Implementation):
    """Blocking collectives of mpi4py; see ``Implementation``."""

    name = "mpi"
    on_device = False

    def __init__(self, team: Team, nbytes: int):
        self.version = library_version()
        self.memory = np.zeros(nbytes, np.uint8), np.zeros(nbytes, np.uint8)
        self._comm = team.comm

    def why_not(self, case: Case, dtype: DType, op: str) -> str:
        if case.name == "put":
            return "MPI's Sendrecv is measured by exchange"
        if case.reduces and op not in _OPS:
            return f"MPI has no {op}"
        if case.reduces and dtype.kind in "fb" and dtype.item_bytes == 2:
            return f"mpi4py has no {dtype.name}"
        return ""

    def has(self, case: Case, in_place: bool) -> bool:
        # MPI's in-place Reduce_scatter leaves the block at the start of the vector, not at this PE's block.
        return case.name != ("reduce_scatter" if in_place else "broadcast")

    def call(self, case: Case, source: Any, target: Any, op: str, root: int) -> Call:
        comm, operator, me = self._comm, _OPS.get(op, MPI.SUM), self._comm.rank
        x, out, peer = _message(source), _message(target), partner(me, comm.size)
        in_place = np.shares_memory(source, target)
        first = MPI.IN_PLACE if in_place else x
        sent, received = case.counts(me, comm.size, source.size // comm.size) if case.counts else ([0], [0])
        calls: dict[str, Call] = {
            "allreduce": lambda _: comm.Allreduce(first, out, operator),
            "reduce_scatter": lambda _: comm.Reduce_scatter_block(x, out, operator),
            "all_gather": lambda _: comm.Allgather(first, out),
            "broadcast": lambda _: comm.Bcast(x, root),
            "reduce": lambda _: comm.Reduce(x if me != root else first, out if me == root else None, operator, root),
            "all_to_all": lambda _: comm.Alltoall(x, out),
            "all_gatherv": lambda _: comm.Allgatherv(x[: sent[0]], [out, received]),
            "reduce_scatterv": lambda _: comm.Reduce_scatter(x[: sum(sent)], out[: received[0]], sent, operator),
            "all_to_allv": lambda _: comm.Alltoallv([x, sent], [out, received]),
            "exchange": lambda _: comm.Sendrecv(x, peer, 0, out, peer, 0),
        }
        if case.name == "exchange" and in_place:
            return lambda _: comm.Sendrecv_replace(out, peer, 0, peer, 0)
        return calls[case.name]


def library_version() -> str:
    """The MPI that mpi4py uses, such as "MPICH Version: 4.3.0"."""
    return " ".join(MPI.Get_library_version().strip("\0").splitlines()[0].split(",")[0].split())


def _message(x: Any) -> Any:
    """An array in a form that MPI takes: 16-bit floats as uint16, since MPI has no such type and only moves them."""
    return x.view(np.uint16) if x.dtype.itemsize == 2 and x.dtype.kind not in "iu" else x
