"""AllGather on the host side: the check of a call."""

from typing import Any

from mpi4py.MPI import IN_PLACE

from ..arrays.array_view import ArrayView, overlap
from ..kernels.all_gather import AUTO, TABLE
from .base import Collective, Request


class AllGather(Collective):
    """out = the parts of all PEs, in the order of the PEs.  Its kernels move bytes, whatever the dtype."""

    name = "all_gather"
    table = TABLE
    number_params = ("out_is_symmetric",)
    moves_bytes = True
    auto = staticmethod(AUTO)

    def check(self, x: Any, out: Any) -> Request:
        """See ``Collective``."""
        n, me = self.job.n_pes, self.job.me
        in_place = x is IN_PLACE
        src, dst, symmetric = self.views(out if in_place else x, out)
        if in_place:
            count = dst.count // n
            if count * n != dst.count:
                raise ValueError(f"out has {dst.count} elements, which is not divisible by {n} PEs: pad it")
            src = ArrayView(dst.address + me * count * dst.dtype.item_bytes, count, dst.dtype, out)
        if dst.count != n * src.count or dst.dtype is not src.dtype:
            raise ValueError(
                f"x has {src.count} elements of {src.dtype.name} and out {dst.count} of {dst.dtype.name}: "
                f"out must have {n} times x's, of the same dtype (a part of each PE)"
            )
        if src.address != dst.address + me * src.nbytes and overlap(src, dst):
            raise ValueError(
                "x and out overlap, and x is not this PE's part of out: for in place pass "
                f"x=out[{me * src.count}:{(me + 1) * src.count}], or a copy"
            )
        aligned = not (src.address | dst.address) & 15
        return Request((dst.address, src.address), src.count, src.dtype, "", aligned, out_is_symmetric=int(symmetric))
