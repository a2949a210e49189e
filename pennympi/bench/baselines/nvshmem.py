"""NVSHMEM's own collectives and puts on a stream, by nvshmem4py's bindings."""

from typing import Any

from nvshmem import bindings

from ...arrays.dtypes import DType, dtype_of
from ...team import Team
from ..cases import Case
from ..implementation import Call, Implementation, symmetric

TEAM_WORLD = 0
_NAMES = {"float16": "half", "float32": "float", "float64": "double"}
_FORMS = {"all_gather": "fcollect", "all_to_all": "alltoall", "broadcast": "broadcast"}


class Nvshmem(Implementation):
    """NVSHMEM over all PEs that it runs on; see ``Implementation``."""

    name = "nvshmem"

    def __init__(self, team: Team, nbytes: int):
        self.version = f"NVSHMEM {dict(team.describe())['NVSHMEM']}"
        self.memory = symmetric(team, nbytes)
        self._me, self._n_pes = team.me, team.n_pes

    def _function(self, case: Case, dtype: DType, op: str) -> Any:
        """The binding for a case, dtype and op, or None."""
        if case.name == "put":
            return bindings.putmem_on_stream
        form = {"allreduce": f"{op}_reduce", "reduce_scatter": f"{op}_reducescatter"}.get(case.name)
        form = form or _FORMS.get(case.name)
        return getattr(bindings, f"{_NAMES.get(dtype.name, dtype.name)}_{form}_on_stream", None)

    def why_not(self, case: Case, dtype: DType, op: str) -> str:
        missing = self._function(case, dtype, op) is None
        return f"NVSHMEM has no {case.name} of {dtype.name} by {op} on a stream" if missing else ""

    def has(self, case: Case, in_place: bool) -> bool:
        return not in_place or case.name == "allreduce"

    def call(self, case: Case, source: Any, target: Any, op: str, root: int) -> Call:
        run = self._function(case, dtype_of(source.dtype), op)
        dst, src = target.data.ptr, source.data.ptr
        if case.name == "put":
            next_pe, nbytes = (self._me + 1) % self._n_pes, source.nbytes
            return lambda stream: run(dst, src, nbytes, next_pe, stream.ptr)
        block = source.size // (self._n_pes if case.source_cut else 1)
        if case.name == "broadcast":
            return lambda stream: run(TEAM_WORLD, dst, src, block, root, stream.ptr)
        return lambda stream: run(TEAM_WORLD, dst, src, block, stream.ptr)
