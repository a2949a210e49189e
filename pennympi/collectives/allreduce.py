"""AllReduce on the host side: what a call may be, and what a plan may do beyond a call."""

from collections.abc import Callable
from typing import Any

from ..arrays.dtypes import DType
from ..arrays.operators import operator_name
from ..arrays.span import check_pair
from ..backend import Run
from ..kernels.algorithm import Algorithm, Place
from ..kernels.allreduce import TABLE
from ..memory.workspace import Workspace
from ..selection.selection import Selection
from .base import Collective, CollectiveContext, Request


class AllReduce(Collective):
    """out = op over all PEs of x."""

    name = "allreduce"
    table = TABLE

    def __init__(self, ground: CollectiveContext, selection: Selection):
        super().__init__(ground)
        self._selection = selection

    def choose(self, name: str | Algorithm, place: Place, nbytes: int, dtype: str, op: str, /) -> Algorithm:
        """The row to run.  Raises ValueError (unknown name), Unsupported (can't run here)."""
        return self._selection.choose(name, place, nbytes, dtype, op)

    def check(self, x: Any, out: Any, op: Any) -> Request:
        """Raises TypeError, ValueError or Unsupported."""
        name = operator_name(op)
        src = dst = self.backend.span(x, out is None)
        self.arrays.holds(src)
        if out is not None and out is not x:
            dst = self.backend.span(out, True)
            self.arrays.holds(dst)
            check_pair(src, dst)
        aligned = not (src.address | dst.address) & 15
        return (dst.address, src.address), (src.count, src.dtype, name, aligned)

    def plan(self, request: Request, algorithm: str | Algorithm, sms: int | None, *arrays: Any) -> Callable[..., None]:
        """As ``Collective.plan``.  Its making is collective, so that the PEs can see whether they all name the same
        symmetric out: then the peers may write there."""
        (out, _), (count, dtype, op, _) = request
        found = self.job.gather(self.arrays.locate(out, count * dtype.item_bytes), "plan of an allreduce")
        shared = found[0] is not None and all(one == found[0] for one in found)
        row = self._selection.planned(algorithm, count * dtype.item_bytes, dtype.name, op, shared)
        return super().plan(request, row or algorithm, sms, *arrays)

    def after(self, row: Algorithm, run: Run, workspace: Workspace, count: int, dtype: DType) -> Run:
        """The launch, and what a row with copies does after it."""
        if row.copied is None or row.meet is None:
            return run
        backend, me, n_pes = self.backend, self.job.me, self.job.n_pes
        chunk = row.copied(count, n_pes)
        low_bytes, nbytes = me * chunk * dtype.item_bytes, max(0, min(chunk, count - me * chunk)) * dtype.item_bytes
        peers = [(me + k) % n_pes for k in range(1, n_pes)] if nbytes else []
        meet = backend.kernel(row.meet, f"allreduce ({row.name})", constants={"n_pes": n_pes})
        end = meet.prepare(1, (me, n_pes, workspace.signals, workspace.epochs), (2, 3), 32)

        def all_of_it(dst: int, src: int, stream: int) -> None:
            run(dst, src, stream)
            backend.hold_if_given_up(stream)  # garbage must not reach a peer that has not come yet
            for pe in peers:
                backend.copy_to(dst + low_bytes, nbytes, pe, stream)
            end(workspace.signals, workspace.epochs, stream)

        return all_of_it
