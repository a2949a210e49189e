"""The collectives of a team, as its user calls them."""

from collections.abc import Callable
from typing import Any

from ..arrays.dtypes import dtype_of
from ..arrays.operators import operator_name
from ..selection.selection import Explanation, Selection
from .all_gather import AllGather
from .all_to_all import AllToAll
from .allreduce import AllReduce
from .base import Collective, CollectiveContext
from .broadcast import Broadcast
from .reduce import Reduce
from .reduce_scatter import ReduceScatter
from .residual import AllReducePlus

ALL: tuple[type[Collective], ...] = (AllGather, ReduceScatter, Broadcast, Reduce, AllToAll)  # beside AllReduce


class Collectives:
    """Every PE of the team makes these calls in the same order, with the same counts, dtype, op and root.

    They return at once and run in stream order, and can be captured in a CUDA graph.  On several streams, in plans,
    graphs and other teams of the process too, they run in the order in which the process issued them.
    x, out: contiguous arrays on the team's device, symmetric or not, of any length and alignment
    op:     "sum", "prod", "min", "max", "avg", or MPI.SUM, MPI.PROD, MPI.MIN, MPI.MAX; 16-bit floats are added in
            float32 and rounded once
    algorithm: a name of the tables in docs/algorithms.md, or "auto"
    stream: of the team's device; None: the current one
    sms:    how many multiprocessors the call may hold, the same on every PE; None: as init was told, or all
    Wrong arguments are refused before anything is sent: TypeError (not an array, a stream or an int), ValueError
    (counts, dtypes, overlap, op, root, algorithm, sms), Unsupported (a dtype, or an algorithm that cannot run here).
    The first call of a kind raises SymmetricHeapExhausted where no workspace is left.  A PE that does not come is a
    PeerTimeout: of the call on the host, of a later call or ``synchronize`` on a GPU.  Where PEs make different calls,
    one that waits raises CollectiveMismatchError, by the first message that it finds, or at the next meeting of all.
    A ``plan_`` of each collective makes a persistent call on these arrays, to be called as plan(stream).
    """

    def __init__(self, context: CollectiveContext, selection: Selection):
        self._me, self._guard, self._selection = context.job.me, context.guard, selection
        self._allreduce, self._allreduce_plus = AllReduce(context, selection), AllReducePlus(context, selection)
        self._all_gather, self._reduce_scatter = AllGather(context), ReduceScatter(context)
        self._broadcast, self._reduce, self._all_to_all = Broadcast(context), Reduce(context), AllToAll(context)

    def allreduce(
        self,
        x: Any,
        out: Any = None,
        op: Any = "sum",
        algorithm: str = "auto",
        stream: Any = None,
        residual: Any = None,
        sms: int | None = None,
    ) -> Any:
        """out = op over all PEs of x, plus residual; returns out (x when out is None: in place).  Collective.

        x, out, residual: arrays of the same count and dtype
        Every PE gets the same bits, but for its own residual, which the same kernel adds before the 16-bit floats
        are rounded (one_shot, one_shot_packets), or in float32 with a second rounding (two_shot, two_shot_packets).
        residual may be out.
        Raises TypeError, ValueError, Unsupported, PeerTimeout; see ``Collectives``.
        """
        if residual is None:
            self._allreduce.call(algorithm, stream, sms, x, out, op)
        else:
            self._allreduce_plus.call(algorithm, stream, sms, x, out, op, residual)
        return x if out is None else out

    def plan_allreduce(
        self,
        x: Any,
        out: Any = None,
        op: Any = "sum",
        algorithm: str = "auto",
        residual: Any = None,
        sms: int | None = None,
    ) -> Callable[..., None]:
        """A persistent ``allreduce``.  Collective.

        Where out is the same symmetric array on every PE, the plan may write the peers' out directly.
        Raises as ``allreduce``.
        """
        if residual is None:
            return self._allreduce.plan(algorithm, sms, x, out, op)
        return self._allreduce_plus.plan(algorithm, sms, x, out, op, residual)

    def explain(self, nbytes: int, dtype: Any = "float32", op: Any = "sum", sms: int | None = None) -> Explanation:
        """What an AllReduce of ``nbytes`` bytes will run and why, its plan, and each algorithm's time in us.

        Not collective.  Raises TypeError (sms), ValueError (nbytes, op, sms, PENNYMPI_ALLREDUCE), Unsupported (dtype).
        """
        self._guard.check_open()
        if nbytes < 0:
            raise ValueError(f"{nbytes} bytes: a size is not negative")
        limits = self._allreduce.limits(sms)
        return self._selection.explain(int(nbytes), dtype_of(dtype), operator_name(op), limits)

    def all_gather(self, x: Any, out: Any, algorithm: str = "auto", stream: Any = None, sms: int | None = None) -> Any:
        """out = the x of every PE, in the order of the PEs; returns out.  Collective.

        x: n elements;  out: n_pes * n elements of the same dtype, which end up the same bits on every PE
        In place when x is this PE's part of out, out[me * n : (me + 1) * n].
        Raises TypeError, ValueError, Unsupported, PeerTimeout; see ``Collectives``.
        """
        self._all_gather.call(algorithm, stream, sms, x, out)
        return out

    def plan_all_gather(self, x: Any, out: Any, algorithm: str = "auto", sms: int | None = None) -> Callable[..., None]:
        """A persistent ``all_gather``.  Collective.  Raises as ``all_gather``."""
        return self._all_gather.plan(algorithm, sms, x, out)

    def reduce_scatter(
        self, x: Any, out: Any, op: Any = "sum", algorithm: str = "auto", stream: Any = None, sms: int | None = None
    ) -> Any:
        """out = this PE's part of op over all PEs of x; returns out.  Collective.

        x: n_pes * n elements, a part for each PE in the order of the PEs;  out: n elements of the same dtype
        In place when out is this PE's part of x, x[me * n : (me + 1) * n].
        Raises TypeError, ValueError, Unsupported, PeerTimeout; see ``Collectives``.
        """
        self._reduce_scatter.call(algorithm, stream, sms, x, out, op)
        return out

    def plan_reduce_scatter(
        self, x: Any, out: Any, op: Any = "sum", algorithm: str = "auto", sms: int | None = None
    ) -> Callable[..., None]:
        """A persistent ``reduce_scatter``.  Collective.  Raises as ``reduce_scatter``."""
        return self._reduce_scatter.plan(algorithm, sms, x, out, op)

    def broadcast(
        self, x: Any, root: int = 0, algorithm: str = "auto", stream: Any = None, sms: int | None = None
    ) -> Any:
        """x = the x of PE root; returns x, the same bits on every PE.  Collective.

        x: n elements
        Raises TypeError, ValueError, Unsupported, PeerTimeout; see ``Collectives``.
        """
        self._broadcast.call(algorithm, stream, sms, x, root)
        return x

    def plan_broadcast(
        self, x: Any, root: int = 0, algorithm: str = "auto", sms: int | None = None
    ) -> Callable[..., None]:
        """A persistent ``broadcast``.  Collective.  Raises as ``broadcast``."""
        return self._broadcast.plan(algorithm, sms, x, root)

    def reduce(
        self,
        x: Any,
        out: Any = None,
        op: Any = "sum",
        root: int = 0,
        algorithm: str = "auto",
        stream: Any = None,
        sms: int | None = None,
    ) -> Any:
        """On PE root, out = op over all PEs of x; returns out there, None elsewhere.  Collective.

        x: n elements, which only the root changes, where out is None: in place
        out: n elements of the same dtype on the root; ignored on the other PEs
        Raises TypeError, ValueError, Unsupported, PeerTimeout; see ``Collectives``.
        """
        self._reduce.call(algorithm, stream, sms, x, out, op, root)
        return None if self._me != root else x if out is None else out

    def plan_reduce(
        self,
        x: Any,
        out: Any = None,
        op: Any = "sum",
        root: int = 0,
        algorithm: str = "auto",
        sms: int | None = None,
    ) -> Callable[..., None]:
        """A persistent ``reduce``.  Collective.  Raises as ``reduce``."""
        return self._reduce.plan(algorithm, sms, x, out, op, root)

    def all_to_all(
        self, x: Any, out: Any = None, algorithm: str = "auto", stream: Any = None, sms: int | None = None
    ) -> Any:
        """Part pe of out = part ``me`` of the x of PE pe; returns out (x when out is None: in place).  Collective.

        x, out: n_pes parts of n elements, of the same dtype
        Raises TypeError, ValueError, Unsupported, PeerTimeout; see ``Collectives``.
        """
        self._all_to_all.call(algorithm, stream, sms, x, out)
        return x if out is None else out

    def plan_all_to_all(
        self, x: Any, out: Any = None, algorithm: str = "auto", sms: int | None = None
    ) -> Callable[..., None]:
        """A persistent ``all_to_all``.  Collective.  Raises as ``all_to_all``."""
        return self._all_to_all.plan(algorithm, sms, x, out)
