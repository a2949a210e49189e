"""All-to-allv on the host side: the check of a call."""

from typing import Any

from mpi4py.MPI import IN_PLACE

from ..arrays.array_view import overlap
from ..kernels.all_to_allv import TABLE
from .base import Request
from .by_counts import ByCounts


class AllToAllv(ByCounts):
    """out = the parts for this PE, of any length, of every PE's x."""

    name = "all_to_allv"
    table = TABLE

    def check(
        self, x: Any, out: Any, send_counts: Any, receive_counts: Any, send_displacements: Any, receive_displacements: Any
    ) -> Request:
        """See ``Collective``.  A PE knows its own counts alone: a message brings the other's, and the kernel compares."""
        in_place, me = x is IN_PLACE, self.job.me
        src, dst = self.alike(out if in_place else x, out)
        taken = sent = self._reader.read(receive_counts, receive_displacements, "receive_")
        if in_place:
            if send_counts is not None or send_displacements is not None:
                raise ValueError("x is MPI.IN_PLACE: what a PE sends are the parts of out; pass None as send_counts")
        else:
            if send_counts is None:
                raise TypeError("send_counts is None: give the number of elements for each PE")
            sent = self._reader.read(send_counts, send_displacements, "send_")
            if overlap(src, dst):
                raise ValueError("x and out overlap: pass MPI.IN_PLACE as x, or a copy")
        sent.check_fits(src, "x")
        taken.check_fits(dst, "out", apart=True)
        own, back = sent.part(me), taken.part(me)
        if own and back and own[0] != back[0]:
            raise ValueError(
                f"send_counts[{me}] is {own[0]} and receive_counts[{me}] is {back[0]}: a PE sends itself what it takes"
            )
        return self.request(src, dst, sent, taken, "parts of")
