"""NCCL, through nccl4py, with plain buffers or with symmetric windows."""

from collections.abc import Sequence
from typing import Any

import cupy

from ...arrays.dtypes import DType
from ...errors import Unsupported
from ...team import Team
from ..cases import Case, partner
from ..implementation import Call
from ..memory import Memory, plain

try:
    import nccl.core as nccl
except ImportError:
    nccl = None


class Nccl:
    """One NCCL communicator over the team's PEs; see ``Implementation``.  Making one is collective.

    symmetric: the buffers are allocated by ncclMemAlloc and registered as symmetric windows, for NCCL's symmetric kernels
    Raises Unsupported without nccl4py, and on the host backend.
    """

    on_device = True

    def __init__(self, team: Team, symmetric: bool):
        if nccl is None:
            raise Unsupported("nccl4py is not installed (pip install nccl4py)")
        if team.backend != "cuda":
            raise Unsupported("NCCL needs the cuda backend")
        self.name = "nccl-symmetric" if symmetric else "nccl"
        self.version = f"NCCL {nccl.get_version().libnccl.version}"
        uid = team.gather(nccl.get_unique_id() if team.me == 0 else None)[0]
        self._comm = nccl.Communicator.init(team.n_pes, team.me, uid)
        self._me, self._n_pes = team.me, team.n_pes
        self.memory = Memory(self._window) if symmetric else plain(team)

    def _window(self, nbytes: int) -> Any:
        array = cupy.from_dlpack(nccl.mem_alloc(nbytes)).view("uint8")
        self._comm.register_window(array, nccl.WindowFlag.COLL_SYMMETRIC)
        return array

    def refuse(self, case: Case, dtype: DType, op: str) -> str:
        if dtype.name in ("int16", "uint16"):
            return f"NCCL has no {dtype.name}"
        return ""

    def has(self, case: Case, in_place: bool) -> bool:
        return True

    def call(self, case: Case, source: Any, target: Any, op: str, root: int) -> Call:
        comm = self._comm
        by = getattr(nccl, op.upper()) if case.reduces else None
        if case.counts:
            sent, taken = case.counts(self._me, self._n_pes, source.size // self._n_pes)
            if case.reduces:
                return lambda stream: self._reduce_parts(source, target, sent, by, stream)
            sends = [source[: sent[0]]] * self._n_pes if case.name == "all_gatherv" else _parts(source, sent)
            return lambda stream: self._send_recv_parts(sends, _parts(target, taken), stream)
        match case.name:
            case "allreduce":
                return lambda stream: comm.allreduce(source, target, by, stream=stream)
            case "reduce_scatter":
                return lambda stream: comm.reduce_scatter(source, target, by, stream=stream)
            case "all_gather":
                return lambda stream: comm.allgather(source, target, stream=stream)
            case "broadcast":
                return lambda stream: comm.broadcast(source, target, root, stream=stream)
            case "reduce":
                return lambda stream: comm.reduce(source, target, by, root, stream=stream)
            case "all_to_all":
                return lambda stream: comm.alltoall(source, target, stream=stream)
            case "exchange":
                other = partner(self._me, self._n_pes)
                return lambda stream: self._send_recv(source, target, other, other, stream)
            case "put":
                after, before = (self._me + 1) % self._n_pes, (self._me - 1) % self._n_pes
                return lambda stream: self._send_recv(source, target, after, before, stream)
        raise ValueError(f"no NCCL call for {case.name}")

    def _send_recv_parts(self, sends: Sequence[Any], takes: Sequence[Any], stream: Any) -> None:
        """What NCCL's users do in place of collectives by counts."""
        with nccl.group():
            for pe, (send, take) in enumerate(zip(sends, takes, strict=True)):
                if send.size:
                    self._comm.send(send, pe, stream=stream)
                if take.size:
                    self._comm.recv(take, pe, stream=stream)

    def _reduce_parts(self, source: Any, target: Any, counts: Sequence[int], by: Any, stream: Any) -> None:
        with nccl.group():
            for pe, part in enumerate(_parts(source, counts)):
                if part.size:
                    self._comm.reduce(part, target[: part.size], by, pe, stream=stream)

    def _send_recv(self, source: Any, target: Any, to: int, sender: int, stream: Any) -> None:
        with nccl.group():
            self._comm.send(source, to, stream=stream)
            self._comm.recv(target, sender, stream=stream)


def _parts(x: Any, counts: Sequence[int]) -> list[Any]:
    """The packed parts of an array."""
    return [x[sum(counts[:pe]) : sum(counts[: pe + 1])] for pe in range(len(counts))]
