"""The checks of the collectives, except AllReduce, whose parts have one size."""

from typing import Any

from mpi4py.MPI import IN_PLACE

from ..arrays.array_view import ArrayView, overlap
from ..arrays.dtypes import DType
from ..arrays.operators import reduction
from ..call_guard import check_pe
from ..kernels import all_gather, all_to_all, broadcast, reduce, reduce_scatter
from .base import Collective
from .kinds import Addresses, Kind


class BySize(Collective):
    """A collective of parts of one size."""

    @staticmethod
    def call(
        src: ArrayView, dst: ArrayView, n_elems: int, dtype: DType, op: str = "", **fields: Any
    ) -> tuple[Addresses, Kind]:
        """The result of ``check``.  fields: other fields of ``Kind``"""
        aligned = not (src.address | dst.address) & 15
        return (dst.address, src.address), Kind(n_elems, dtype, op, aligned, **fields)

    def check_part(self, src: ArrayView, dst: ArrayView, whole: str, part: str) -> None:
        """Raise ValueError unless one array has a part for each PE, of the other array's size, and they overlap only
        in place.

        whole, part: names of the array of all parts and of the array of one part: "x" or "out"
        """
        n, me = self.job.n_pes, self.job.me
        whole_view, part_view = (src, dst) if whole == "x" else (dst, src)
        if whole_view.count != n * part_view.count or dst.dtype is not src.dtype:
            raise ValueError(
                f"x has {src.count} elements of {src.dtype.name} and out {dst.count} of {dst.dtype.name}: "
                f"{whole} must have {n} times {part}'s, of the same dtype (a part for each PE)"
            )
        if part_view.address != whole_view.address + me * part_view.nbytes and overlap(src, dst):
            raise ValueError(
                f"x and out overlap, and {part} is not this PE's part of {whole}: for in place pass "
                f"{part}={whole}[{me * part_view.count}:{(me + 1) * part_view.count}], or a copy"
            )


class AllGather(BySize):
    """out = the parts of all PEs, in the order of the PEs."""

    name = "all_gather"
    table = all_gather.TABLE
    auto = staticmethod(all_gather.AUTO)

    def check(self, x: Any, out: Any) -> tuple[Addresses, Kind]:
        in_place = x is IN_PLACE
        src, dst, symmetric = self.views(out if in_place else x, out)
        if in_place:
            n = self.job.n_pes
            count = dst.count // n
            if count * n != dst.count:
                raise ValueError(f"out has {dst.count} elements, which is not divisible by {n} PEs: pad it")
            src = ArrayView(dst.address + self.job.me * count * dst.dtype.item_bytes, count, dst.dtype, out)
        self.check_part(src, dst, "out", "x")
        return self.call(src, dst, src.count, src.dtype, out_is_symmetric=symmetric)


class ReduceScatter(BySize):
    """out = this PE's part of op over all PEs of x."""

    name = "reduce_scatter"
    table = reduce_scatter.TABLE
    auto = staticmethod(reduce_scatter.AUTO)
    in_parts = True

    def check(self, x: Any, out: Any, op: Any) -> tuple[Addresses, Kind]:
        src, dst, _ = self.views(x, out)
        self.check_part(src, dst, "x", "out")
        name, dtype, numbers = reduction(op, src.dtype)
        return self.call(src, dst, dst.count * numbers, dtype, name)


class AllToAll(BySize):
    """out = the part for this PE of every PE's x."""

    name = "all_to_all"
    table = all_to_all.TABLE
    auto = staticmethod(all_to_all.AUTO)
    in_parts = True

    def check(self, x: Any, out: Any) -> tuple[Addresses, Kind]:
        src, dst, symmetric = self.x_and_out(x, out)
        if src.count % self.job.n_pes:
            raise ValueError(f"x has {src.count} elements, which is not divisible by {self.job.n_pes} PEs: pad it")
        return self.call(src, dst, src.count // self.job.n_pes, src.dtype, out_is_symmetric=symmetric)


class Broadcast(BySize):
    """x = the x of the root."""

    name = "broadcast"
    table = broadcast.TABLE
    auto = staticmethod(broadcast.AUTO)

    def check(self, x: Any, root: Any) -> tuple[Addresses, Kind]:
        root = check_pe(root, self.job.n_pes, "root")
        src = self.backend.heap.array_view(x, self.job.me != root)
        self.arrays.holds(src)
        return self.call(src, src, src.count, src.dtype, root=root)


class Reduce(BySize):
    """On the root, out = op over all PEs of x."""

    name = "reduce"
    table = reduce.TABLE
    auto = staticmethod(reduce.AUTO)

    def check(self, x: Any, out: Any, op: Any, root: Any) -> tuple[Addresses, Kind]:
        """See ``Collective``.  ``out`` is checked on the root only, as in MPI."""
        root = check_pe(root, self.job.n_pes, "root")
        src, dst, _ = self.x_and_out(x, out, writes=self.job.me == root)
        name, dtype, numbers = reduction(op, src.dtype)
        return self.call(src, dst, src.count * numbers, dtype, name, root=root)
