"""The methods of a team for its collectives."""

from collections.abc import Callable
from typing import Any, TypeVar, overload

from mpi4py import MPI

from ..annotations import (
    AllGatherAlgorithm,
    AllToAllAlgorithm,
    AnyStream,
    Array,
    BroadcastAlgorithm,
    NewArray,
    Op,
    Plan,
    ReduceAlgorithm,
    ReduceScatterAlgorithm,
)
from ..selection.choose import Selection
from .allreduce import Sums
from .base import Collective, CollectiveContext
from .by_counts import AllGatherv, AllToAllv, ReduceScatterv
from .by_size import AllGather, AllToAll, Broadcast, Reduce, ReduceScatter
from .variable_counts import VariableCounts

ArrayT = TypeVar("ArrayT", bound=Array)

# all collectives except AllReduce
ALL: tuple[type[Collective], ...] = (
    AllGather, ReduceScatter, Broadcast, Reduce, AllToAll, AllGatherv, ReduceScatterv, AllToAllv
)  # fmt: skip


class Collectives(Sums, VariableCounts):
    """Every PE of the team makes these calls in the same order, with the same counts, dtype, op and root.

    They return at once and run in stream order, and a CUDA graph can capture them.  Calls on several streams, in plans,
    in graphs and of other teams run in the order in which the process issued them.
    x, out: contiguous arrays on the team's device, symmetric or not, of any length and alignment; also in a buffer of
            mpi4py, [x, MPI.DOUBLE] or [x, count, MPI.DOUBLE], which names the array's own type.  MPI.IN_PLACE as x of
            allreduce, reduce, all_to_all or all_gather: the contents of out
    op:     "sum", "prod", "min", "max", or MPI.SUM, MPI.PROD, MPI.MIN, MPI.MAX; 16-bit floats are added in float32 and
            rounded once.  "mean" (or "avg"): the sum, divided by n_pes in the type of the sum, then rounded once to the
            type of x.  Integers have "avg" without "mean": its sum can't overflow, and the quotient is truncated toward
            zero.  Complex numbers have "sum" and "mean".  Bools have "min" and "max", or MPI.LAND and MPI.LOR
    algorithm: a name of the tables in docs/algorithms.md, or "auto"
    stream: a stream of the team's device; None: the current stream
    sms:    number of multiprocessors that the call may hold, the same on every PE; None: the number of init, or all.
            Collectives run one after another in any case
    Wrong arguments raise an error before anything is sent: TypeError (not an array, a stream or an int), ValueError
    (counts, dtypes, overlap, op, root, algorithm, sms), Unsupported (a dtype, or an algorithm that cannot run here).
    The first call of a kind raises SymmetricHeapExhausted if the heap has no room for its workspace.  If a peer never
    calls, PeerTimeout is raised: by this call on CPUs, by the next call or ``synchronize`` on GPUs.  If PEs make
    different calls, CollectiveMismatchError is raised by a PE that waits, or at the next meeting of all PEs.
    A ``plan_`` of each collective makes a persistent call on these arrays, to be called as plan(stream).
    """

    def __init__(self, context: CollectiveContext, selection: Selection):
        Sums.__init__(self, context, selection)
        VariableCounts.__init__(self, context)
        self._me, self._guard, self._backend, self._job = context.job.me, context.guard, context.backend, context.job
        self._all_gather, self._reduce_scatter = AllGather(context), ReduceScatter(context)
        self._broadcast, self._reduce, self._all_to_all = Broadcast(context), Reduce(context), AllToAll(context)

    @overload
    def all_gather(
        self,
        x: Array,
        out: None = None,
        algorithm: AllGatherAlgorithm = "auto",
        stream: AnyStream | None = None,
        sms: int | None = None,
    ) -> NewArray: ...

    @overload
    def all_gather(
        self,
        x: Array | MPI.InPlaceType,
        out: ArrayT,
        algorithm: AllGatherAlgorithm = "auto",
        stream: AnyStream | None = None,
        sms: int | None = None,
    ) -> ArrayT: ...

    def all_gather(
        self,
        x: Array | MPI.InPlaceType,
        out: Any = None,
        algorithm: AllGatherAlgorithm = "auto",
        stream: AnyStream | None = None,
        sms: int | None = None,
    ) -> Any:
        """out = the x of every PE, in the order of the PEs; returns out.  Collective.

        x: n elements
        out: n_pes * n elements of the same dtype, with the same bits on every PE.  None: a new array, not symmetric,
             as if x of all PEs were concatenated along the first axis: n_pes * x.shape[0] rows.  It is an array of
             NumPy or CuPy, or a PyTorch tensor if x is a tensor.  During the capture of a CUDA graph, pass out
        In place when x is this PE's part of out, out[me * n : (me + 1) * n].
        Raises TypeError, ValueError, Unsupported, PeerTimeout; see ``Collectives``.
        """
        if out is None:
            out = self._new_out(x, stream, lambda rows: rows * self._job.n_pes)
        self._all_gather.run_eager(algorithm, stream, sms, x, out)
        return out

    def plan_all_gather(
        self, x: Array | MPI.InPlaceType, out: Array, algorithm: AllGatherAlgorithm = "auto", sms: int | None = None
    ) -> Plan:
        """A persistent ``all_gather``.  Collective.  Raises as ``all_gather``."""
        return self._all_gather.make_plan(algorithm, sms, x, out)

    @overload
    def reduce_scatter(
        self,
        x: Array,
        out: None = None,
        op: Op = "sum",
        algorithm: ReduceScatterAlgorithm = "auto",
        stream: AnyStream | None = None,
        sms: int | None = None,
    ) -> NewArray: ...

    @overload
    def reduce_scatter(
        self,
        x: Array | MPI.InPlaceType,
        out: ArrayT,
        op: Op = "sum",
        algorithm: ReduceScatterAlgorithm = "auto",
        stream: AnyStream | None = None,
        sms: int | None = None,
    ) -> ArrayT: ...

    def reduce_scatter(
        self,
        x: Array | MPI.InPlaceType,
        out: Any = None,
        op: Op = "sum",
        algorithm: ReduceScatterAlgorithm = "auto",
        stream: AnyStream | None = None,
        sms: int | None = None,
    ) -> Any:
        """out = this PE's part of op over all PEs of x; returns out.  Collective.

        x: n_pes * n elements, a part for each PE in the order of the PEs
        out: n elements of the same dtype.  None: a new array, as in ``all_gather``, with the rows of this PE's part; the
             rows of x must be a multiple of n_pes
        In place when out is this PE's part of x, x[me * n : (me + 1) * n].
        Raises TypeError, ValueError, Unsupported, PeerTimeout; see ``Collectives``.
        """
        if out is None:
            out = self._new_out(x, stream, self._rows_of_part)
        self._reduce_scatter.run_eager(algorithm, stream, sms, x, out, op)
        return out

    def plan_reduce_scatter(
        self, x: Array, out: Array, op: Op = "sum", algorithm: ReduceScatterAlgorithm = "auto", sms: int | None = None
    ) -> Plan:
        """A persistent ``reduce_scatter``.  Collective.  Raises as ``reduce_scatter``."""
        return self._reduce_scatter.make_plan(algorithm, sms, x, out, op)

    def broadcast(
        self,
        x: ArrayT,
        root: int = 0,
        algorithm: BroadcastAlgorithm = "auto",
        stream: AnyStream | None = None,
        sms: int | None = None,
    ) -> ArrayT:
        """x = the x of PE root; returns x, the same bits on every PE.  Collective.

        x: n elements
        Raises TypeError, ValueError, Unsupported, PeerTimeout; see ``Collectives``.
        """
        self._broadcast.run_eager(algorithm, stream, sms, x, root)
        return x

    def plan_broadcast(
        self, x: Array, root: int = 0, algorithm: BroadcastAlgorithm = "auto", sms: int | None = None
    ) -> Plan:
        """A persistent ``broadcast``.  Collective.  Raises as ``broadcast``."""
        return self._broadcast.make_plan(algorithm, sms, x, root)

    def reduce(
        self,
        x: ArrayT | MPI.InPlaceType,
        out: ArrayT | None = None,
        op: Op = "sum",
        root: int = 0,
        algorithm: ReduceAlgorithm = "auto",
        stream: AnyStream | None = None,
        sms: int | None = None,
    ) -> ArrayT | None:
        """On PE root, out = op over all PEs of x; returns out on the root, None on other PEs.  Collective.

        x: n elements; if out is None, the root gets the result in x, and the x of the other PEs do not change
        out: n elements of the same dtype on the root; ignored on the other PEs
        Raises TypeError, ValueError, Unsupported, PeerTimeout; see ``Collectives``.
        """
        self._reduce.run_eager(algorithm, stream, sms, x, out, op, root)
        return None if self._me != root else x if out is None else out  # type: ignore[return-value]

    def plan_reduce(
        self,
        x: Array | MPI.InPlaceType,
        out: Array | None = None,
        op: Op = "sum",
        root: int = 0,
        algorithm: ReduceAlgorithm = "auto",
        sms: int | None = None,
    ) -> Plan:
        """A persistent ``reduce``.  Collective.  Raises as ``reduce``."""
        return self._reduce.make_plan(algorithm, sms, x, out, op, root)

    def all_to_all(
        self,
        x: ArrayT | MPI.InPlaceType,
        out: ArrayT | None = None,
        algorithm: AllToAllAlgorithm = "auto",
        stream: AnyStream | None = None,
        sms: int | None = None,
    ) -> ArrayT:
        """Part pe of out = part ``me`` of the x of PE pe; returns out (x when out is None: in place).  Collective.

        x, out: n_pes parts of n elements, of the same dtype
        Raises TypeError, ValueError, Unsupported, PeerTimeout; see ``Collectives``.
        """
        self._all_to_all.run_eager(algorithm, stream, sms, x, out)
        return x if out is None else out  # type: ignore[return-value]

    def plan_all_to_all(
        self,
        x: Array | MPI.InPlaceType,
        out: Array | None = None,
        algorithm: AllToAllAlgorithm = "auto",
        sms: int | None = None,
    ) -> Plan:
        """A persistent ``all_to_all``.  Collective.  Raises as ``all_to_all``."""
        return self._all_to_all.make_plan(algorithm, sms, x, out)

    def _new_out(self, x: Any, stream: Any, rows_of_out: Callable[[int], int]) -> Any:
        """A new array for a result with another number of rows than x.  Raises as ``all_gather``."""
        self._guard.check_open()
        view, handle = self._backend.heap.array_view(x, False), self._backend.streams.handle(stream)
        rows, *sizes = getattr(x, "shape", None) or (view.count,)  # an array without dimensions is one row
        shape = (rows_of_out(rows), *sizes)
        new_empty = getattr(x, "new_empty", None)  # a method of PyTorch's tensors
        return new_empty(shape) if new_empty else self._backend.heap.new(shape, view.dtype, handle)

    def _rows_of_part(self, rows: int) -> int:
        """Number of rows of a PE's part.  Raises ValueError."""
        if rows % self._job.n_pes:
            raise ValueError(f"x has {rows} rows, which is not divisible by {self._job.n_pes} PEs: pad it, or give out")
        return rows // self._job.n_pes
