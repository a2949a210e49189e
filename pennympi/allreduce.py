"""AllReduce on the host side: what a call may be."""

from typing import Any

from .collective import Asked, Collective
from .kernels.allreduce import TABLE
from .operators import operator_name
from .selection import choose
from .span import check_alike, check_apart


class AllReduce(Collective):
    """out = op over all PEs of x."""

    name = "allreduce"
    table = TABLE
    share = 1
    choose = staticmethod(choose)

    def check(self, x: Any, out: Any, op: Any) -> Asked:
        """Raises TypeError, ValueError or Unsupported."""
        name = operator_name(op)
        src = dst = self.backend.span(x, out is None)
        self.arrays.holds(src)
        if out is not None and out is not x:
            dst = self.backend.span(out, True)
            self.arrays.holds(dst)
            check_alike(x=src, out=dst)
            check_apart("out=None for in place", x=src, out=dst)
        aligned = not (src.address | dst.address) & 15
        return (dst.address, src.address), (src.count, src.dtype, name, aligned)
