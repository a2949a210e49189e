"""AllReduce: the check of a call, the algorithms that only plans can run, and the methods of a team."""

from typing import Any, NoReturn, TypeVar

from mpi4py import MPI

from ..annotations import AllReduceAlgorithm, AnyStream, Array, DTypeLike, Op, Order, Plan, PlannedAllReduceAlgorithm
from ..arrays.array_view import ArrayView, check_alike, check_apart
from ..arrays.dtypes import dtype_of
from ..arrays.operators import reduction
from ..backend import Run
from ..compile.options import KernelOptions
from ..kernels.algorithm import Algorithm
from ..kernels.allreduce import TABLE
from ..kernels.plans import cut
from ..kernels.records import Work
from ..kernels.residual import add_residual
from ..selection.choose import Selection
from ..selection.explanation import Explanation
from .base import BLOCK_BYTES, Collective, CollectiveContext
from .kinds import Addresses, Kind

ArrayT = TypeVar("ArrayT", bound=Array)


class AllReduce(Collective):
    """out = op over all PEs of x, plus a residual if the call has one."""

    name = "allreduce"
    table = TABLE

    def __init__(self, context: CollectiveContext, selection: Selection):
        super().__init__(context)
        self._selection = selection

    def choose(self, algorithm: str | Algorithm, call: Kind) -> Algorithm:
        nbytes = call.n_elems * call.dtype.item_bytes
        return self._selection.choose(algorithm, nbytes, call.dtype.name, call.op, call.residual)

    def check(self, x: Any, out: Any, op: Any, residual: Any = None) -> tuple[Addresses, Kind]:
        src, dst, _ = self.x_and_out(x, out)
        try:  # a look-up is faster than a call
            name, dtype, numbers = src.dtype.reductions[op]
        except (KeyError, TypeError):
            name, dtype, numbers = reduction(op, src.dtype)
        if residual is None:
            aligned = not (src.address | dst.address) & 15
            return (dst.address, src.address), Kind(src.count * numbers, dtype, name, aligned)
        added = self._residual(src, dst, residual)
        aligned = not (src.address | dst.address | added.address) & 15
        addresses = dst.address, src.address, added.address
        return addresses, Kind(src.count * numbers, dtype, name, aligned, residual=True)

    def _residual(self, src: ArrayView, dst: ArrayView, residual: Any) -> ArrayView:
        """The checked residual."""
        added = self.backend.heap.array_view(residual, False)
        self.arrays.holds(added)
        if src.count != added.count or src.dtype is not added.dtype:
            check_alike(x=src, residual=added)
        if src.dtype.kind == "?":
            raise ValueError("a residual is added, and bools have no sum: convert the arrays to numbers")
        check_apart("residual=out", residual=added, out=dst)
        return added

    def algorithm_of_plan(self, addresses: Addresses, call: Kind, algorithm: str | Algorithm) -> str | Algorithm:
        """An algorithm that writes the peers' ``out`` if all PEs pass the same symmetric array, else ``algorithm``.

        Collective.
        """
        if call.residual:  # no such algorithm adds a residual
            return algorithm
        nbytes = call.n_elems * call.dtype.item_bytes
        locations = self.job.gather(self.arrays.locate(addresses[0], nbytes), "plan of an allreduce")
        shared = locations[0] is not None and all(location == locations[0] for location in locations)
        return self._selection.choose(algorithm, nbytes, call.dtype.name, call.op, shared_out=shared)

    def single_pe_run(self, call: Kind) -> Run:
        """See ``Collective``; with a residual, out = x + residual."""
        if not call.residual:
            return super().single_pe_run(call)
        options = KernelOptions(reduction=(call.dtype, "sum"))
        kernel = self.backend.compiler.kernel(add_residual, "allreduce of one PE", options)
        count = call.n_elems
        blocks = max(1, min(self.backend.max_blocks, count * call.dtype.item_bytes // BLOCK_BYTES))
        record = call.record(cut(count, blocks, count + 16))
        return kernel.prepare(blocks, record, tuple(record._fields.index(name) for name in call.params))

    def with_follow_up(self, chosen: Algorithm, run: Run, call: Kind, work: Work) -> Run:
        """The launch and, for an algorithm with ``copied``, the copies by the copy engines after it."""
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
            backend.streams.hold_if_given_up(stream)  # a PE that has given up must not write to a peer that is late
            for pe in peers:
                backend.peers.copy(dst + low_bytes, nbytes, pe, stream)
            end(work.signals, work.epochs, stream)

        return run_and_copy


class Sums:
    """The methods of AllReduce, in any order and in the canonical order."""

    def __init__(self, context: CollectiveContext, selection: Selection):
        self._guard, self._selection = context.guard, selection
        self._selections = {"any": selection, "canonical": selection.canonical()}
        self._sums = {order: AllReduce(context, choice) for order, choice in self._selections.items()}

    def allreduce(
        self,
        x: ArrayT | MPI.InPlaceType,
        out: ArrayT | None = None,
        op: Op = "sum",
        algorithm: AllReduceAlgorithm = "auto",
        stream: AnyStream | None = None,
        residual: Array | None = None,
        sms: int | None = None,
        order: Order = "any",
    ) -> ArrayT:
        """out = op over all PEs of x, plus residual; returns out (x when out is None: in place).  Collective.

        x, out, residual: arrays of the same count and dtype; for a number call ``team.comm.allreduce``
        Every PE gets the same bits, except for its own residual.  The same kernel adds the residual; out may be the
        residual.  one_shot and one_shot_packets add it before 16-bit floats are rounded, two_shot and two_shot_packets
        after that, in float32 with a second rounding.
        order: "canonical": the PEs' values of an element are added in the order of the PEs, and the sum is rounded
               once, so its bits depend only on these values, not on the count or the algorithm.  Some algorithms can't
               do this
        Raises TypeError, ValueError, Unsupported, PeerTimeout; see ``Collectives``.
        """
        collective = self._sums.get(order) or _unknown(order)
        if residual is None:
            collective.run_eager(algorithm, stream, sms, x, out, op)
        else:
            collective.run_eager(algorithm, stream, sms, x, out, op, residual)
        return x if out is None else out  # type: ignore[return-value]

    def plan_allreduce(
        self,
        x: Array | MPI.InPlaceType,
        out: Array | None = None,
        op: Op = "sum",
        algorithm: PlannedAllReduceAlgorithm = "auto",
        residual: Array | None = None,
        sms: int | None = None,
        order: Order = "any",
    ) -> Plan:
        """A persistent ``allreduce``.  Collective.

        If out is the same symmetric array on every PE, the plan may write the peers' out directly.
        Raises as ``allreduce``.
        """
        return (self._sums.get(order) or _unknown(order)).make_plan(algorithm, sms, x, out, op, residual)

    def explain(
        self, nbytes: int, dtype: DTypeLike = "float32", op: Op = "sum", sms: int | None = None, order: Order = "any"
    ) -> Explanation:
        """The algorithm that an AllReduce of ``nbytes`` bytes will run, the reason, its plan, and all algorithms' times.

        Not collective.
        Raises TypeError (sms), ValueError (nbytes, op, sms, order, PENNYMPI_ALGORITHM), Unsupported (dtype).
        """
        self._guard.check_open()
        if nbytes < 0:
            raise ValueError(f"nbytes is {nbytes}: give a size of 0 bytes or more")
        name, number_dtype, _ = reduction(op, dtype_of(dtype))
        chosen = self._selections.get(order) or _unknown(order)
        return chosen.explain(int(nbytes), number_dtype, name, self._sums["any"].limits(sms))


def _unknown(order: Any) -> NoReturn:
    raise ValueError(f"order {order!r} is unknown: use 'any' or 'canonical'")
