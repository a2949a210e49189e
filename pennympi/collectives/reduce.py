"""Reduce on the host side: the check of a call."""

from typing import Any

from ..arrays.operators import reduction
from ..kernels.reduce import AUTO, TABLE
from ..rma import check_pe
from .base import Collective, Request


class Reduce(Collective):
    """On the root, out = op over all PEs of x."""

    name = "reduce"
    table = TABLE
    number_params = ("root",)
    auto = staticmethod(AUTO)

    def check(self, x: Any, out: Any, op: Any, root: Any) -> Request:
        """See ``Collective``.  ``out`` is checked on the root only, as in MPI."""
        root = check_pe(root, self.job.n_pes, "root")
        src, dst, _ = self.x_and_out(x, out, writes=self.job.me == root)
        name, dtype, numbers = reduction(op, src.dtype)
        aligned = not (src.address | dst.address) & 15
        return Request((dst.address, src.address), src.count * numbers, dtype, name, aligned, root)
