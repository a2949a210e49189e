"""The collectives that only move data: the checks of their calls."""

from typing import Any

from mpi4py.MPI import IN_PLACE

from ..arrays.array_view import ArrayView, overlap
from ..call_guard import check_pe
from ..kernels import all_gather, all_to_all, broadcast
from .base import Collective
from .kinds import Addresses, Moved


class AllGather(Collective):
    """out = the parts of all PEs, in the order of the PEs."""

    name = "all_gather"
    table = all_gather.TABLE
    auto = staticmethod(all_gather.AUTO)

    def check(self, x: Any, out: Any) -> tuple[Addresses, Moved]:
        n, me = self.job.n_pes, self.job.me
        in_place = x is IN_PLACE
        src, dst, symmetric = self.views(out if in_place else x, out)
        if in_place:
            count = dst.count // n
            if count * n != dst.count:
                raise ValueError(f"out has {dst.count} elements, which is not divisible by {n} PEs: pad it")
            src = ArrayView(dst.address + me * count * dst.dtype.item_bytes, count, dst.dtype, out)
        if dst.count != n * src.count or dst.dtype is not src.dtype:
            raise ValueError(
                f"x has {src.count} elements of {src.dtype.name} and out {dst.count} of {dst.dtype.name}: "
                f"out must have {n} times x's, of the same dtype (a part of each PE)"
            )
        if src.address != dst.address + me * src.nbytes and overlap(src, dst):
            raise ValueError(
                "x and out overlap, and x is not this PE's part of out: for in place pass "
                f"x=out[{me * src.count}:{(me + 1) * src.count}], or a copy"
            )
        aligned = not (src.address | dst.address) & 15
        return (dst.address, src.address), Moved(src.count, src.dtype, aligned, None, symmetric)


class AllToAll(Collective):
    """out = the part for this PE of every PE's x."""

    name = "all_to_all"
    table = all_to_all.TABLE
    auto = staticmethod(all_to_all.AUTO)
    in_parts = True

    def check(self, x: Any, out: Any) -> tuple[Addresses, Moved]:
        src, dst, symmetric = self.x_and_out(x, out)
        if src.count % self.job.n_pes:
            raise ValueError(f"x has {src.count} elements, which is not divisible by {self.job.n_pes} PEs: pad it")
        aligned = not (src.address | dst.address) & 15
        return (dst.address, src.address), Moved(src.count // self.job.n_pes, src.dtype, aligned, None, symmetric)


class Broadcast(Collective):
    """x = the x of the root."""

    name = "broadcast"
    table = broadcast.TABLE
    auto = staticmethod(broadcast.AUTO)

    def check(self, x: Any, root: Any) -> tuple[Addresses, Moved]:
        root = check_pe(root, self.job.n_pes, "root")
        src = self.backend.heap.array_view(x, self.job.me != root)
        self.arrays.holds(src)
        return (src.address, src.address), Moved(src.count, src.dtype, not src.address & 15, root)
