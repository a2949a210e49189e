"""AllGatherv on the host side: the check of a call."""

from typing import Any

from mpi4py.MPI import IN_PLACE

from ..arrays.array_view import overlap
from ..kernels.all_gatherv import TABLE
from .base import Request
from .by_counts import ByCounts


class AllGatherv(ByCounts):
    """out = the parts of all PEs, of any length."""

    name = "all_gatherv"
    table = TABLE

    def check(self, x: Any, out: Any, counts: Any, displacements: Any) -> Request:
        """See ``Collective``.  The kernel takes a src that is out for this PE's part of it."""
        src, dst = self.alike(out if x is IN_PLACE else x, out)
        parts, me = self._reader.read(counts, displacements), self.job.me
        parts.check_fits(dst, "out", apart=True)
        own = parts.part(me)
        if x is not IN_PLACE:
            if own and src.count != own[0]:
                raise ValueError(f"x has {src.count} elements and counts[{me}] is {own[0]}: give what this PE is to send")
            if own and src.address == dst.address + own[1] * dst.dtype.item_bytes:
                src = dst
            elif overlap(src, dst):
                raise ValueError("x and out overlap, and x is not known to be this PE's part of out: pass MPI.IN_PLACE")
        return self.request(src, dst, parts, parts, parts.text(), count=parts.largest)
