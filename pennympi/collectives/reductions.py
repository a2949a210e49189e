"""Reduce and ReduceScatter: the checks of their calls."""

from typing import Any

from ..arrays.array_view import overlap
from ..arrays.operators import reduction
from ..call_guard import check_pe
from ..kernels import reduce, reduce_scatter
from .base import Collective
from .kinds import Addresses, Reduced


class Reduce(Collective):
    """On the root, out = op over all PEs of x."""

    name = "reduce"
    table = reduce.TABLE
    auto = staticmethod(reduce.AUTO)

    def check(self, x: Any, out: Any, op: Any, root: Any) -> tuple[Addresses, Reduced]:
        """See ``Collective``.  ``out`` is checked on the root only, as in MPI."""
        root = check_pe(root, self.job.n_pes, "root")
        src, dst, _ = self.x_and_out(x, out, writes=self.job.me == root)
        name, dtype, numbers = reduction(op, src.dtype)
        aligned = not (src.address | dst.address) & 15
        return (dst.address, src.address), Reduced(src.count * numbers, dtype, name, aligned, root)


class ReduceScatter(Collective):
    """out = this PE's part of op over all PEs of x."""

    name = "reduce_scatter"
    table = reduce_scatter.TABLE
    auto = staticmethod(reduce_scatter.AUTO)
    in_parts = True

    def check(self, x: Any, out: Any, op: Any) -> tuple[Addresses, Reduced]:
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
        return (dst.address, src.address), Reduced(dst.count * numbers, dtype, name, aligned)
