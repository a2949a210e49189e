"""All-to-all on the host side: the check of a call."""

from typing import Any

from ..kernels.all_to_all import AUTO, TABLE
from .base import Collective, Request


class AllToAll(Collective):
    """out = the part for this PE of every PE's x.  Its kernels move bytes, whatever the dtype."""

    name = "all_to_all"
    table = TABLE
    number_params = ("out_is_symmetric",)
    moves_bytes = in_parts = True
    auto = staticmethod(AUTO)

    def check(self, x: Any, out: Any) -> Request:
        """See ``Collective``."""
        src, dst, symmetric = self.x_and_out(x, out)
        if src.count % self.job.n_pes:
            raise ValueError(f"x has {src.count} elements, which is not divisible by {self.job.n_pes} PEs: pad it")
        aligned = not (src.address | dst.address) & 15
        part = src.count // self.job.n_pes
        return Request((dst.address, src.address), part, src.dtype, "", aligned, out_is_symmetric=int(symmetric))
