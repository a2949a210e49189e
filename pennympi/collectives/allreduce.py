"""AllReduce: the check of a call, and what a plan may do beyond an eager call."""

from typing import Any

from ..arrays.array_view import ArrayView, check_alike, check_apart
from ..arrays.operators import reduction
from ..backend import Run
from ..compile.options import KernelOptions
from ..kernels.algorithm import Algorithm
from ..kernels.allreduce import TABLE
from ..kernels.plans import cut
from ..kernels.records import Work
from ..kernels.residual import add_residual
from ..selection.choose import Selection
from .base import BLOCK_BYTES, Collective, CollectiveContext
from .kinds import Addresses, Kind, Reduced


class AllReduce(Collective):
    """out = op over all PEs of x, plus a residual if there is one."""

    name = "allreduce"
    table = TABLE

    def __init__(self, context: CollectiveContext, selection: Selection):
        super().__init__(context)
        self._selection = selection

    def choose(self, algorithm: str | Algorithm, call: Kind) -> Algorithm:
        nbytes, adds_residual = call.n_elems * call.dtype.item_bytes, "residual" in call.params
        return self._selection.choose(algorithm, nbytes, call.dtype.name, call.op, adds_residual)

    def check(self, x: Any, out: Any, op: Any, residual: Any = None) -> tuple[Addresses, Reduced]:
        src, dst, _ = self.x_and_out(x, out)
        try:  # without a call
            name, dtype, numbers = src.dtype.reductions[op]
        except (KeyError, TypeError):
            name, dtype, numbers = reduction(op, src.dtype)
        if residual is None:
            aligned = not (src.address | dst.address) & 15
            return (dst.address, src.address), Reduced(src.count * numbers, dtype, name, aligned)
        added = self._residual(src, dst, residual)
        aligned = not (src.address | dst.address | added.address) & 15
        addresses = dst.address, src.address, added.address
        return addresses, Reduced(src.count * numbers, dtype, name, aligned, residual=True)

    def _residual(self, src: ArrayView, dst: ArrayView, residual: Any) -> ArrayView:
        """The checked residual."""
        added = self.backend.heap.array_view(residual, False)
        self.arrays.holds(added)
        if src.count != added.count or src.dtype is not added.dtype:
            check_alike(x=src, residual=added)
        if src.dtype.kind == "?":
            raise ValueError("a residual is added, and the sum of two bools is none: convert the arrays to numbers")
        check_apart("residual=out", residual=added, out=dst)
        return added

    def algorithm_of_plan(self, addresses: Addresses, call: Kind, algorithm: str | Algorithm) -> str | Algorithm:
        """An algorithm that writes the peers' ``out``, where all PEs pass the same symmetric array.  Collective."""
        if "residual" in call.params:  # none of them adds one
            return algorithm
        nbytes = call.n_elems * call.dtype.item_bytes
        found = self.job.gather(self.arrays.locate(addresses[0], nbytes), "plan of an allreduce")
        shared = found[0] is not None and all(one == found[0] for one in found)
        return self._selection.planned(algorithm, nbytes, call.dtype.name, call.op, shared) or algorithm

    def single_pe_run(self, call: Kind) -> Run:
        """See ``Collective``; with a residual, out = x + residual."""
        if "residual" not in call.params:
            return super().single_pe_run(call)
        options = KernelOptions(reduction=(call.dtype, "sum"))
        kernel = self.backend.compiler.kernel(add_residual, "allreduce of one PE", options)
        count = call.n_elems
        blocks = max(1, min(self.backend.max_blocks, count * call.dtype.item_bytes // BLOCK_BYTES))
        record = call.record(cut(count, blocks, count + 16))
        return kernel.prepare(blocks, record, tuple(record._fields.index(name) for name in call.params))

    def with_follow_up(self, chosen: Algorithm, run: Run, call: Kind, work: Work) -> Run:
        """The launch, and the copies by the copy engines after it where the algorithm has them."""
        if chosen.copied is None or chosen.meet is None:
            return run
        backend, me, n_pes = self.backend, self.job.me, self.job.n_pes
        count, item_bytes = call.n_elems, call.dtype.item_bytes
        chunk = chosen.copied(count, n_pes)
        low_bytes, nbytes = me * chunk * item_bytes, max(0, min(chunk, count - me * chunk)) * item_bytes
        peers = [(me + k) % n_pes for k in range(1, n_pes)] if nbytes else []
        options = KernelOptions(constants={"n_pes": n_pes})
        meet = backend.compiler.kernel(chosen.meet, f"allreduce ({chosen.name})", options)
        left_open = 2 + Work._fields.index("signals"), 2 + Work._fields.index("epochs")
        end = meet.prepare(1, (me, n_pes, *work), left_open, 32)

        def run_and_copy(dst: int, src: int, stream: int) -> None:
            run(dst, src, stream)
            backend.streams.hold_if_given_up(stream)  # garbage must not reach a peer that has not come yet
            for pe in peers:
                backend.peers.copy(dst + low_bytes, nbytes, pe, stream)
            end(work.signals, work.epochs, stream)

        return run_and_copy
