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
        if x is IN_PLACE:
            src, dst = self._in_place(out)
        else:
            src, dst = self.backend.array_view(x, False), self.backend.array_view(out, True)
        self.arrays.holds(src)
        symmetric = self.arrays.holds(dst)
        n = self.job.n_pes
        if dst.count != n * src.count or dst.dtype is not src.dtype:
            raise ValueError(
                f"x has {src.count} elements of {src.dtype.name} and out {dst.count} of {dst.dtype.name}: "
                f"out must have {n} times x's, of the same dtype (a part of each PE)"
            )
        if src.address != dst.address + self.job.me * src.nbytes and overlap(src, dst):
            raise ValueError(
                "x and out overlap, and x is not this PE's part of out: for in place pass "
                f"x=out[{self.job.me * src.count}:{(self.job.me + 1) * src.count}], or a copy"
            )
        aligned = not (src.address | dst.address) & 15
        return Request((dst.address, src.address), src.count, src.dtype, "", aligned, out_is_symmetric=int(symmetric))

    def _in_place(self, out: Any) -> tuple[ArrayView, ArrayView]:
        """This PE's part of out, and out.  Raises ValueError."""
        dst, n_pes = self.backend.array_view(out, True), self.job.n_pes
        count = dst.count // n_pes
        if count * n_pes != dst.count:
            raise ValueError(f"out has {dst.count} elements, which are no equal parts for {n_pes} PEs: pad it")
        return ArrayView(dst.address + self.job.me * count * dst.dtype.item_bytes, count, dst.dtype, out), dst
