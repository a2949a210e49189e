"""ReduceScatterv on the host side: the check of a call."""

from typing import Any

from ..arrays.array_view import overlap
from ..arrays.operators import reduction
from ..kernels.reduce_scatterv import TABLE
from .base import Request
from .by_counts import ByCounts


class ReduceScatterv(ByCounts):
    """out = this PE's part, of any length, of op over all PEs of x."""

    name = "reduce_scatterv"
    table = TABLE
    moves_bytes = False

    def check(self, x: Any, out: Any, counts: Any, op: Any) -> Request:
        """See ``Collective``."""
        src, dst = self.alike(x, out)
        parts, me = self._reader.read(counts, None), self.job.me
        parts.check_fits(src, "x")
        own, total = parts.part(me), sum(count for count, _ in parts.on_host)
        if own and (src.count != total or dst.count != own[0]):
            raise ValueError(
                f"x has {src.count} elements and out {dst.count}, and by counts x must have {total}, a part for each PE, "
                f"and out {own[0]}, this PE's part"
            )
        in_place = own and dst.address == src.address + own[1] * src.dtype.item_bytes
        if overlap(src, dst) and not in_place:
            raise ValueError("x and out overlap, and out is not known to be this PE's part of x: pass a copy")
        name, dtype, numbers = reduction(op, src.dtype)
        return self.request(src, dst, parts, parts, parts.text(numbers), dtype, name, parts.largest * numbers)
