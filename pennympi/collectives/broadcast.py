"""Broadcast on the host side: the check of a call."""

from typing import Any

from ..kernels.broadcast import AUTO, TABLE
from ..rma import check_pe
from .base import Collective, Request


class Broadcast(Collective):
    """x = the x of the root.  Its kernels move bytes, whatever the dtype."""

    name = "broadcast"
    table = TABLE
    number_params = ("root",)
    moves_bytes = True
    auto = staticmethod(AUTO)

    def check(self, x: Any, root: Any) -> Request:
        """See ``Collective``."""
        root = check_pe(root, self.job.n_pes, "root")
        src = self.backend.heap.array_view(x, self.job.me != root)
        self.arrays.holds(src)
        return Request((src.address, src.address), src.count, src.dtype, "", not src.address & 15, root)
