"""AllReduce with a residual, added in the same kernel: out = op over all PEs of x, plus this PE's residual."""

from collections.abc import Callable
from typing import Any

from ..arrays.dtypes import DType
from ..arrays.span import Span, check_alike, check_apart
from ..backend import Run
from ..kernels.algorithm import Algorithm, Place, cut
from ..kernels.records import Reduction
from ..kernels.residual import add_residual
from .allreduce import AllReduce
from .base import Collective, Request

BLOCK_BYTES = 16384


class AllReducePlus(AllReduce):
    """AllReduce with a residual.  Its lanes are AllReduce's; without one AllReduce has nothing to do with it."""

    opened = ("out", "src", "residual")

    def choose(self, name: str | Algorithm, place: Place, nbytes: int, dtype: str, op: str, /) -> Algorithm:
        """The row to run, one that adds a residual.  Raises ValueError, Unsupported."""
        return self._selection.choose(name, place, nbytes, dtype, op, residual=True)

    def check(self, x: Any, out: Any, op: Any, residual: Any = None) -> Request:
        """Raises TypeError, ValueError or Unsupported."""
        (dst, src), (count, dtype, name, aligned) = super().check(x, out, op)
        rest = self.backend.span(residual, False)
        self.arrays.holds(rest)
        check_alike(x=Span(src, count, dtype, x), residual=rest)
        check_apart("residual=out", residual=rest, out=Span(dst, count, dtype, out))
        return (dst, src, rest.address), (count, dtype, name, aligned and not rest.address & 15)

    def plan(self, request: Request, algorithm: str | Algorithm, sms: int | None, *arrays: Any) -> Callable[..., None]:
        """As ``Collective.plan``."""
        return Collective.plan(self, request, algorithm, sms, *arrays)

    def single_pe_run(self, count: int, dtype: DType) -> Run:
        """One PE: out = x + residual."""
        kernel = self.backend.kernel(add_residual, "allreduce of one PE", reduction=(dtype, "sum"))
        nbytes = count * dtype.item_bytes
        blocks = max(1, min(self.backend.max_blocks, nbytes // BLOCK_BYTES))
        call = Reduction(0, 0, count, cut(count, blocks, count + 16), dtype.item_bytes, dtype.acc_bytes, 0, 0)
        return kernel.prepare(blocks, call, tuple(call._fields.index(name) for name in self.opened))
