"""AllReduce with a residual, added in the same kernel: out = op over all PEs of x, plus this PE's residual."""

from typing import Any

from mpi4py.MPI import IN_PLACE

from ..arrays.array_view import ArrayView, check_alike, check_apart
from ..backend import Run
from ..compile.options import KernelOptions
from ..kernels.algorithm import Algorithm, Topology, cut
from ..kernels.records import Reduction
from ..kernels.residual import add_residual
from .allreduce import AllReduce
from .base import BLOCK_BYTES, Request


class AllReducePlus(AllReduce):
    """AllReduce with a residual; it shares the workspaces of AllReduce."""

    address_params = ("out", "src", "residual")

    def choose(self, name: str | Algorithm, topology: Topology, nbytes: int, dtype: str, op: str, /) -> Algorithm:
        """See ``Collective``: an algorithm that adds a residual."""
        return self._selection.choose(name, nbytes, dtype, op, residual=True)

    def check(self, x: Any, out: Any, op: Any, residual: Any = None) -> Request:
        """See ``Collective``."""
        if x is IN_PLACE:
            x, out = out, None
        request = super().check(x, out, op)
        dst, src = request.addresses
        given, added = self.backend.array_view(x, False), self.backend.array_view(residual, False)
        self.arrays.holds(added)
        if given.count != added.count or given.dtype is not added.dtype:
            check_alike(x=given, residual=added)
        if given.dtype.kind == "?":
            raise ValueError("a residual is added, and the sum of two bools is none: convert the arrays to numbers")
        if dst != added.address and abs(dst - added.address) < added.nbytes:
            check_apart("residual=out", residual=added, out=ArrayView(dst, given.count, given.dtype, out))
        aligned = request.aligned and not added.address & 15
        return request._replace(addresses=(dst, src, added.address), aligned=aligned)

    def algorithm_of_plan(self, request: Request, algorithm: str | Algorithm) -> str | Algorithm:
        """As an eager call: no algorithm that writes the peers' ``out`` adds a residual."""
        return algorithm

    def single_pe_run(self, request: Request) -> Run:
        """The launch of a team of one PE: out = x + residual."""
        count, dtype = request.n_elems, request.dtype
        kernel = self.backend.kernel(add_residual, "allreduce of one PE", KernelOptions(reduction=(dtype, "sum")))
        nbytes = count * dtype.item_bytes
        blocks = max(1, min(self.backend.max_blocks, nbytes // BLOCK_BYTES))
        call = Reduction(0, 0, count, cut(count, blocks, count + 16), dtype.item_bytes, dtype.acc_bytes, 0, 0)
        return kernel.prepare(blocks, call, tuple(call._fields.index(name) for name in self.address_params))
