"""The collectives of a team beside AllReduce, as its user sees them."""

from collections.abc import Callable
from typing import Any

from ..backend import Backend
from ..job.job import Job
from .all_gather import AllGather
from .all_to_all import AllToAll
from .base import Collective, CollectiveContext, Request
from .broadcast import Broadcast
from .reduce import Reduce
from .reduce_scatter import ReduceScatter

ALL: tuple[type[Collective], ...] = (AllGather, ReduceScatter, Broadcast, Reduce, AllToAll)


class Collectives:
    """Every PE of the team makes these calls in the same order, with the same counts, dtype, op and root.

    They return at once and run in stream order, and can be captured in a CUDA graph.  On several streams, in plans,
    graphs and other teams of the process too, they run in the order in which the process issued them.
    Arrays: contiguous, on the device, symmetric or not, of any length and alignment.
    op: "sum", "prod", "min", "max", "avg", or MPI.SUM and so on; 16-bit floats are added in float32 and rounded once
    algorithm: a row of the README's tables, or "auto"
    sms: on how many multiprocessors a call may hold a block, the same on every PE; None: what init was given, or
         all.  Plans that bound them have a workspace of their own, and run at once where they fit together.
    Each raises TypeError, ValueError or Unsupported before anything is sent; PeerTimeout.
    A ``plan_`` of each makes a persistent call on these arrays, to be called as plan(stream): it is collective.
    """

    _backend: Backend
    _debug: bool
    _open: bool
    _job: Job
    _check: Callable[[], None]
    _enter: Callable[..., None]
    _compare: Callable[..., None]

    def __init__(self, ground: CollectiveContext):
        self._all_gather, self._reduce_scatter = AllGather(ground), ReduceScatter(ground)
        self._broadcast, self._reduce, self._all_to_all = Broadcast(ground), Reduce(ground), AllToAll(ground)

    def all_gather(self, x: Any, out: Any, algorithm: str = "auto", stream: Any = None, sms: int | None = None) -> Any:
        """out = the x of every PE, in the order of the PEs; returns out.

        x: n elements;  out: n_pes * n elements of the same dtype, the same bits on every PE
        In place when x is this PE's part of out, out[me * n : (me + 1) * n].
        """
        self._all_gather.call(self._ask(self._all_gather, algorithm, x, out), algorithm, stream, sms)
        return out

    def plan_all_gather(self, x: Any, out: Any, algorithm: str = "auto", sms: int | None = None) -> Callable[..., None]:
        """A persistent ``all_gather``."""
        return self._plan(self._all_gather, algorithm, sms, x, out)

    def reduce_scatter(
        self, x: Any, out: Any, op: Any = "sum", algorithm: str = "auto", stream: Any = None, sms: int | None = None
    ) -> Any:
        """out = this PE's part of op over all PEs of x; returns out.

        x: n_pes * n elements, a part for each PE in the order of the PEs;  out: n elements of the same dtype
        In place when out is this PE's part of x, x[me * n : (me + 1) * n].
        """
        self._reduce_scatter.call(self._ask(self._reduce_scatter, algorithm, x, out, op), algorithm, stream, sms)
        return out

    def plan_reduce_scatter(
        self, x: Any, out: Any, op: Any = "sum", algorithm: str = "auto", sms: int | None = None
    ) -> Callable[..., None]:
        """A persistent ``reduce_scatter``."""
        return self._plan(self._reduce_scatter, algorithm, sms, x, out, op)

    def broadcast(
        self, x: Any, root: int = 0, algorithm: str = "auto", stream: Any = None, sms: int | None = None
    ) -> Any:
        """x = the x of PE root; returns x, the same bits on every PE."""
        self._broadcast.call(self._ask(self._broadcast, algorithm, x, root), algorithm, stream, sms)
        return x

    def plan_broadcast(
        self, x: Any, root: int = 0, algorithm: str = "auto", sms: int | None = None
    ) -> Callable[..., None]:
        """A persistent ``broadcast``."""
        return self._plan(self._broadcast, algorithm, sms, x, root)

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
        """On PE root, out = op over all PEs of x; returns out there (x when out is None: in place), None elsewhere.

        out: of x's count and dtype; the other PEs' is not looked at.  The x of the others stays as it is.
        """
        self._reduce.call(self._ask(self._reduce, algorithm, x, out, op, root), algorithm, stream, sms)
        return None if self._job.me != root else x if out is None else out

    def plan_reduce(
        self,
        x: Any,
        out: Any = None,
        op: Any = "sum",
        root: int = 0,
        algorithm: str = "auto",
        sms: int | None = None,
    ) -> Callable[..., None]:
        """A persistent ``reduce``."""
        return self._plan(self._reduce, algorithm, sms, x, out, op, root)

    def all_to_all(
        self, x: Any, out: Any = None, algorithm: str = "auto", stream: Any = None, sms: int | None = None
    ) -> Any:
        """Part pe of out = part ``me`` of the x of PE pe; returns out (x when out is None: in place).

        x, out: n_pes equal parts, of the same count and dtype
        """
        self._all_to_all.call(self._ask(self._all_to_all, algorithm, x, out), algorithm, stream, sms)
        return x if out is None else out

    def plan_all_to_all(
        self, x: Any, out: Any = None, algorithm: str = "auto", sms: int | None = None
    ) -> Callable[..., None]:
        """A persistent ``all_to_all``."""
        return self._plan(self._all_to_all, algorithm, sms, x, out)

    def _ask(self, collective: Collective, algorithm: str, x: Any, *args: Any) -> Request:
        """Check a call and count it where the other PEs can see it; in debug mode, compare it with theirs."""
        if not self._open:
            self._check()
        request = collective.check(x, *args)
        self._job.control.enter(collective.name)
        if self._debug:
            src = self._backend.span(x, False)
            op, more = request[1][2], request[1][4:5] if "root" in collective.extras else collective.opened[2:]
            self._compare(collective.name, src.dtype.name, src.count, op, algorithm, *more)
        return request

    def _plan(self, collective: Collective, algorithm: str, sms: int | None, *args: Any) -> Callable[..., None]:
        self._enter(f"plan_{collective.name}")
        return collective.plan(collective.check(*args), algorithm, sms, *args)
