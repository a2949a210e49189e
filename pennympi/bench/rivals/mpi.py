"""MPI's collectives, through mpi4py, on arrays in host memory."""

from typing import Any

import numpy as np
from mpi4py import MPI

from ...arrays.dtypes import DType
from ...team import Team
from ..cases import Case, partner
from ..implementation import Call
from ..memory import Memory

_OPS = {"sum": MPI.SUM, "prod": MPI.PROD, "min": MPI.MIN, "max": MPI.MAX}


class Mpi:
    """Blocking collectives of mpi4py; see ``Implementation``."""

    name = "mpi"
    on_device = False

    def __init__(self, team: Team):
        self.version = " ".join(MPI.Get_library_version().strip("\0").splitlines()[0].split(",")[0].split())
        self.memory = Memory(lambda nbytes: np.zeros(nbytes, np.uint8))
        self._comm = team.comm

    def refuse(self, case: Case, dtype: DType, op: str) -> str:
        if case.name == "put":
            return "MPI's Sendrecv is measured by exchange"
        if case.reduces and op not in _OPS:
            return f"MPI has no {op}"
        if case.reduces and dtype.kind in "fb" and dtype.item_bytes == 2:
            return f"mpi4py has no {dtype.name}"
        return ""

    def has(self, case: Case, in_place: bool) -> bool:
        # MPI's in-place Reduce_scatter leaves the block at the start of the vector, not at this PE's block.
        return case.name not in ("broadcast" if not in_place else "reduce_scatter",)

    def call(self, case: Case, source: Any, target: Any, op: str, root: int) -> Call:
        comm, by = self._comm, _OPS.get(op, MPI.SUM)
        in_place = np.shares_memory(source, target)
        given, received = _message(source), _message(target)
        first = MPI.IN_PLACE if in_place else given
        me = comm.rank
        sent, taken = case.counts(me, comm.size, source.size // comm.size) if case.counts else ([], [])
        match case.name:
            case "all_gatherv":
                return lambda stream: comm.Allgatherv(given[: sent[0]], [received, taken])
            case "reduce_scatterv":
                return lambda stream: comm.Reduce_scatter(given[: sum(sent)], received[: taken[0]], sent, by)
            case "all_to_allv":
                return lambda stream: comm.Alltoallv([given, sent], [received, taken])
            case "allreduce":
                return lambda stream: comm.Allreduce(first, received, by)
            case "reduce_scatter":
                return lambda stream: comm.Reduce_scatter_block(given, received, by)
            case "all_gather":
                return lambda stream: comm.Allgather(first, received)
            case "broadcast":
                return lambda stream: comm.Bcast(given, root)
            case "reduce":
                part = given if me != root else first
                return lambda stream: comm.Reduce(part, received if me == root else None, by, root)
            case "all_to_all":
                return lambda stream: comm.Alltoall(given, received)
            case "exchange":
                other = partner(me, comm.size)
                if in_place:
                    return lambda stream: comm.Sendrecv_replace(received, other, 0, other, 0)
                return lambda stream: comm.Sendrecv(given, other, 0, received, other, 0)
        raise ValueError(f"no MPI call for {case.name}")


def _message(x: Any) -> Any:
    """An array as MPI takes it: 16-bit floats as uint16, because MPI has no such type and only moves them."""
    return x.view(np.uint16) if x.dtype.itemsize == 2 and x.dtype.kind not in "iu" else x
