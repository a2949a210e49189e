"""The MPI library underneath, on arrays in host memory."""

from typing import Any

import numpy as np
from mpi4py import MPI

from ...arrays.dtypes import DType
from ...team import Team
from ..cases import Case, partner
from ..contestant import Call
from ..memory import Memory

_OPS = {"sum": MPI.SUM, "prod": MPI.PROD, "min": MPI.MIN, "max": MPI.MAX}


class Mpi:
    """Blocking collectives of mpi4py."""

    name = "mpi"
    on_device = False

    def __init__(self, team: Team):
        self.version = " ".join(MPI.Get_library_version().strip("\0").splitlines()[0].split(",")[0].split())
        self.memory = Memory(lambda nbytes: np.zeros(nbytes, np.uint8))
        self._comm = team.comm

    def refuse(self, case: Case, dtype: DType, op: str) -> str:
        if case.name == "put":
            return "a two-sided Sendrecv is what exchange measures"
        if case.reduces and op not in _OPS:
            return f"MPI has no {op}"
        if case.reduces and dtype.kind in "fb" and dtype.item_bytes == 2:
            return f"mpi4py has no {dtype.name}"
        return ""

    def has(self, case: Case, in_place: bool) -> bool:
        # Reduce_scatter in place leaves its block elsewhere: at the start of the vector.
        return case.name not in ("broadcast" if not in_place else "reduce_scatter",)

    def call(self, case: Case, source: Any, target: Any, op: str, root: int) -> Call:
        comm, by = self._comm, _OPS.get(op, MPI.SUM)
        in_place = np.shares_memory(source, target)
        given, gotten = _message(source), _message(target)
        first = MPI.IN_PLACE if in_place else given
        me = comm.rank
        match case.name:
            case "allreduce":
                return lambda stream: comm.Allreduce(first, gotten, by)
            case "reduce_scatter":
                return lambda stream: comm.Reduce_scatter_block(given, gotten, by)
            case "all_gather":
                return lambda stream: comm.Allgather(first, gotten)
            case "broadcast":
                return lambda stream: comm.Bcast(given, root)
            case "reduce":
                sent = given if me != root else first
                return lambda stream: comm.Reduce(sent, gotten if me == root else None, by, root)
            case "all_to_all":
                return lambda stream: comm.Alltoall(given, gotten)
            case "exchange":
                other = partner(me, comm.size)
                if in_place:
                    return lambda stream: comm.Sendrecv_replace(gotten, other, 0, other, 0)
                return lambda stream: comm.Sendrecv(given, other, 0, gotten, other, 0)
        raise ValueError(f"no MPI call for {case.name}")


def _message(x: Any) -> Any:
    """An array as MPI takes it: 16-bit floats, which it does not know, only move, as uint16."""
    return x.view(np.uint16) if x.dtype.itemsize == 2 and x.dtype.kind not in "iu" else x
