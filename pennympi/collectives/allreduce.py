"""AllReduce on the host side: the check of a call, and what a plan may do beyond an eager call."""

from typing import Any

from ..arrays.operators import reduction
from ..backend import Run
from ..compile.options import KernelOptions
from ..kernels.algorithm import Algorithm, Topology
from ..kernels.allreduce import TABLE
from ..kernels.records import Work
from ..selection.choose import Selection
from .base import Collective, CollectiveContext, Request


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
        meet = backend.kernel(chosen.meet, f"allreduce ({chosen.name})", KernelOptions(constants={"n_pes": n_pes}))
        left_open = 2 + Work._fields.index("signals"), 2 + Work._fields.index("epochs")
        end = meet.prepare(1, (me, n_pes, *work), left_open, 32)

        def run_and_copy(dst: int, src: int, stream: int) -> None:
            run(dst, src, stream)
            backend.hold_if_given_up(stream)  # garbage must not reach a peer that has not come yet
            for pe in peers:
                backend.copy_to(dst + low_bytes, nbytes, pe, stream)
            end(work.signals, work.epochs, stream)

        return run_and_copy
