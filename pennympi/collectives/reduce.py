"""Reduce on the host side: the check of a call."""

from typing import Any

from mpi4py.MPI import IN_PLACE

from ..arrays.operators import reduction
from ..arrays.span import check_pair
from ..kernels.reduce import AUTO, TABLE
from .base import Collective, Request, check_root


class Reduce(Collective):
    """On the root, out = op over all PEs of x."""

    name = "reduce"
    table = TABLE
    number_params = ("root",)
    auto = staticmethod(AUTO)

    def check(self, x: Any, out: Any, op: Any, root: Any) -> Request:
        """See ``Collective``.  ``out`` is checked on the root only, as in MPI."""
        root = check_root(root, self.job.n_pes)
        at_root = self.job.me == root
        if x is IN_PLACE:
            x, out = out, None
        src = dst = self.backend.span(x, at_root and out is None)
        self.arrays.holds(src)
        if at_root and out is not None and out is not x:
            dst = self.backend.span(out, True)
            self.arrays.holds(dst)
            check_pair(src, dst)
        name, dtype, numbers = reduction(op, src.dtype)
        aligned = not (src.address | dst.address) & 15
        return Request((dst.address, src.address), src.count * numbers, dtype, name, aligned, root)
