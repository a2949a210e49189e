"""ReduceScatter on the host side: the check of a call."""

from typing import Any

from ..arrays.array_view import overlap
from ..arrays.operators import reduction
from ..kernels.reduce_scatter import AUTO, TABLE
from .base import Collective, Request


class ReduceScatter(Collective):
    """out = this PE's part of op over all PEs of x."""

    name = "reduce_scatter"
    table = TABLE
    in_parts = True
    auto = staticmethod(AUTO)

    def check(self, x: Any, out: Any, op: Any) -> Request:
        """See ``Collective``."""
        src, dst, _ = self.views(x, out)
        n = self.job.n_pes
        if src.count != n * dst.count or dst.dtype is not src.dtype:
            raise ValueError(
                f"x has {src.count} elements of {src.dtype.name} and out {dst.count} of {dst.dtype.name}: "
                f"x must have {n} times out's, of the same dtype (a part for each PE)"
            )
        if dst.address != src.address + self.job.me * dst.nbytes and overlap(src, dst):
            raise ValueError(
                "x and out overlap, and out is not this PE's part of x: for in place pass "
                f"out=x[{self.job.me * dst.count}:{(self.job.me + 1) * dst.count}], or a copy"
            )
        name, dtype, numbers = reduction(op, src.dtype)
        aligned = not (src.address | dst.address) & 15
        return Request((dst.address, src.address), dst.count * numbers, dtype, name, aligned)
