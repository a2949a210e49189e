"""NCCL, through nccl4py, with plain buffers or with symmetric windows."""

from collections.abc import Sequence
from typing import Any

import cupy
import nccl.core as nccl

from ...arrays.dtypes import DType
from ...team import Team
from ..cases import Case, partner
from ..implementation import Call, Implementation, plain


class Nccl(Implementation):
    """An NCCL communicator over the team's PEs; see ``Implementation``.  The constructor is collective.

    symmetric: buffers come from ncclMemAlloc and are registered as symmetric windows, for NCCL's symmetric kernels
    """

    def __init__(self, team: Team, nbytes: int, symmetric: bool):
        self.name = "nccl-symmetric" if symmetric else "nccl"
        self.version = f"NCCL {nccl.get_version().libnccl.version}"
        uid = team.gather(nccl.get_unique_id() if team.me == 0 else None)[0]
        self._comm = nccl.Communicator.init(team.n_pes, team.me, uid)
        self._me, self._n_pes = team.me, team.n_pes
        self.memory = (self._window(nbytes), self._window(nbytes)) if symmetric else plain(team, nbytes)

    def _window(self, nbytes: int) -> Any:
        array = cupy.from_dlpack(nccl.mem_alloc(nbytes)).view("uint8")
        self._comm.register_window(array, nccl.WindowFlag.COLL_SYMMETRIC)
        return array

    def why_not(self, case: Case, dtype: DType, op: str) -> str:
        return f"NCCL has no {dtype.name}" if dtype.name in ("int16", "uint16") else ""

    def call(self, case: Case, source: Any, target: Any, op: str, root: int) -> Call:
        comm, me, n_pes = self._comm, self._me, self._n_pes
        operator = getattr(nccl, op.upper()) if case.reduces else None
        peer = partner(me, n_pes)
        sends, receives = {peer: source}, {peer: target}  # the messages of an exchange
        if case.name == "put":
            sends, receives = {(me + 1) % n_pes: source}, {(me - 1) % n_pes: target}
        if case.counts:
            sent, received = case.counts(me, n_pes, source.size // n_pes)
            to_all = dict.fromkeys(range(n_pes), source[: sent[0]])
            sends, receives = to_all if case.name == "all_gatherv" else _parts(source, sent), _parts(target, received)
        calls: dict[str, Call] = {
            "allreduce": lambda s: comm.allreduce(source, target, operator, stream=s),
            "reduce_scatter": lambda s: comm.reduce_scatter(source, target, operator, stream=s),
            "all_gather": lambda s: comm.allgather(source, target, stream=s),
            "broadcast": lambda s: comm.broadcast(source, target, root, stream=s),
            "reduce": lambda s: comm.reduce(source, target, operator, root, stream=s),
            "all_to_all": lambda s: comm.alltoall(source, target, stream=s),
            "reduce_scatterv": lambda s: self._reduce_parts(sends, target, operator, s),
        }
        return calls.get(case.name, lambda s: self._messages(sends, receives, s))

    def _messages(self, sends: dict[int, Any], receives: dict[int, Any], stream: Any) -> None:
        """Grouped messages to and from PEs, since NCCL has no collectives by counts."""
        with nccl.group():
            for pe, part in sends.items():
                if part.size:
                    self._comm.send(part, pe, stream=stream)
            for pe, part in receives.items():
                if part.size:
                    self._comm.recv(part, pe, stream=stream)

    def _reduce_parts(self, parts: dict[int, Any], target: Any, operator: Any, stream: Any) -> None:
        with nccl.group():
            for pe, part in parts.items():
                if part.size:
                    self._comm.reduce(part, target[: part.size], operator, pe, stream=stream)


def _parts(x: Any, counts: Sequence[int]) -> dict[int, Any]:
    """{PE: its part of a packed array}"""
    return {pe: x[sum(counts[:pe]) : sum(counts[: pe + 1])] for pe in range(len(counts))}
