"""Broadcast on the host side: what a call may be."""

from typing import Any

from ..kernels.broadcast import TABLE
from ..selection.thresholds import BYTE, packets_then_large, selector
from .base import Collective, Request, check_root

choose = selector("broadcast", TABLE, packets_then_large({2: "spread"}, "ring"))


class Broadcast(Collective):
    """x = x of the root.  What travels is bytes, whatever the dtype."""

    name = "broadcast"
    table = TABLE
    extras = ("root",)
    choose = staticmethod(choose)

    def check(self, x: Any, root: Any) -> Request:
        """Raises TypeError, ValueError or Unsupported."""
        root = check_root(root, self.job.n_pes)
        src = self.backend.span(x, self.job.me != root)
        self.arrays.holds(src)
        return (src.address, src.address), (src.nbytes, BYTE, "", not src.address & 15, root)
