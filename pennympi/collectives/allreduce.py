"""AllReduce on the host side: the check of a call, and what a plan may do beyond an eager call."""

from typing import Any

from mpi4py.MPI import IN_PLACE

from ..arrays.array_view import ArrayView, check_alike, check_apart
from ..arrays.operators import reduction
from ..backend import Run
from ..compile.options import KernelOptions
from ..kernels.algorithm import Algorithm, Topology
from ..kernels.allreduce import TABLE
from ..kernels.plans import cut
from ..kernels.records import Reduction, Work
from ..kernels.residual import add_residual
from ..selection.choose import Selection
from .base import BLOCK_BYTES, Collective, CollectiveContext, Request


class AllReduce(Collective):
    """out = op over all PEs of x."""

    name = "allreduce"
    table = TABLE

    def __init__(self, context: CollectiveContext, selection: Selection):
        super().__init__(context)
        self._selection = selection

    def choose(self, name: str | Algorithm, topology: Topology, nbytes: int, dtype: str, op: str, /) -> Algorithm:
        """See ``Collective``."""
        return self._selection.choose(name, nbytes, dtype, op)

    def check(self, x: Any, out: Any, op: Any) -> Request:
        """See ``Collective``."""
        src, dst, _ = self.x_and_out(x, out)
        try:  # without a call
            name, dtype, numbers = src.dtype.reductions[op]
        except (KeyError, TypeError):
            name, dtype, numbers = reduction(op, src.dtype)
        aligned = not (src.address | dst.address) & 15
        return Request((dst.address, src.address), src.count * numbers, dtype, name, aligned)

    def algorithm_of_plan(self, request: Request, algorithm: str | Algorithm) -> str | Algorithm:
        """An algorithm that writes the peers' ``out``, where all PEs pass the same symmetric array.  Collective."""
        nbytes = request.n_elems * request.dtype.item_bytes
        found = self.job.gather(self.arrays.locate(request.addresses[0], nbytes), "plan of an allreduce")
        shared = found[0] is not None and all(one == found[0] for one in found)
        chosen = self._selection.planned(algorithm, nbytes, request.dtype.name, request.op, shared)
        return chosen or algorithm

    def with_follow_up(self, chosen: Algorithm, run: Run, request: Request, work: Work) -> Run:
        """The launch, and the copies by the copy engines after it where the algorithm has them."""
        if chosen.copied is None or chosen.meet is None:
            return run
        backend, me, n_pes = self.backend, self.job.me, self.job.n_pes
        count, item_bytes = request.n_elems, request.dtype.item_bytes
        chunk = chosen.copied(count, n_pes)
        low_bytes, nbytes = me * chunk * item_bytes, max(0, min(chunk, count - me * chunk)) * item_bytes
        peers = [(me + k) % n_pes for k in range(1, n_pes)] if nbytes else []
        meet = backend.compiler.kernel(
            chosen.meet, f"allreduce ({chosen.name})", KernelOptions(constants={"n_pes": n_pes})
        )
        left_open = 2 + Work._fields.index("signals"), 2 + Work._fields.index("epochs")
        end = meet.prepare(1, (me, n_pes, *work), left_open, 32)

        def run_and_copy(dst: int, src: int, stream: int) -> None:
            run(dst, src, stream)
            backend.streams.hold_if_given_up(stream)  # garbage must not reach a peer that has not come yet
            for pe in peers:
                backend.peers.copy(dst + low_bytes, nbytes, pe, stream)
            end(work.signals, work.epochs, stream)

        return run_and_copy


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
        given, added = self.backend.heap.array_view(x, False), self.backend.heap.array_view(residual, False)
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
        kernel = self.backend.compiler.kernel(
            add_residual, "allreduce of one PE", KernelOptions(reduction=(dtype, "sum"))
        )
        nbytes = count * dtype.item_bytes
        blocks = max(1, min(self.backend.max_blocks, nbytes // BLOCK_BYTES))
        call = Reduction(0, 0, count, cut(count, blocks, count + 16), dtype.item_bytes, dtype.acc_bytes, 0, 0)
        return kernel.prepare(blocks, call, tuple(call._fields.index(name) for name in self.address_params))
