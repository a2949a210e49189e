"""AllReduce, as its user calls it."""

from typing import Any, NoReturn, TypeVar

from mpi4py import MPI

from ..annotations import AllReduceAlgorithm, AnyStream, Array, DTypeLike, Op, Order, Plan, PlannedAllReduceAlgorithm
from ..arrays.dtypes import dtype_of
from ..arrays.operators import reduction
from ..selection.choose import Selection
from ..selection.explanation import Explanation
from .allreduce import AllReduce
from .base import CollectiveContext

Given = TypeVar("Given", bound=Array)


class Sums:
    """AllReduce in any order and in the canonical one; which algorithm will run, and why."""

    def __init__(self, context: CollectiveContext, selection: Selection):
        self._guard, self._selection = context.guard, selection
        self._selections = {"any": selection, "canonical": selection.canonical()}
        self._sums = {order: AllReduce(context, one) for order, one in self._selections.items()}

    def allreduce(
        self,
        x: Given | MPI.InPlaceType,
        out: Given | None = None,
        op: Op = "sum",
        algorithm: AllReduceAlgorithm = "auto",
        stream: AnyStream | None = None,
        residual: Array | None = None,
        sms: int | None = None,
        order: Order = "any",
    ) -> Given:
        """out = op over all PEs of x, plus residual; returns out (x when out is None: in place).  Collective.

        x, out, residual: arrays of the same count and dtype; for a number call ``team.comm.allreduce``
        Every PE gets the same bits, apart from its own residual.  The same kernel adds the residual: before 16-bit floats
        are rounded (one_shot, one_shot_packets), or in float32 with a second rounding (two_shot, two_shot_packets).
        residual may be out.
        order: "canonical": the PEs' values of an element are added in the order of the PEs and rounded once, so its bits
           depend on nothing else, such as the count or the algorithm.  Not every algorithm can do this
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

        Where out is the same symmetric array on every PE, the plan may write the peers' out directly.
        Raises as ``allreduce``.
        """
        return (self._sums.get(order) or _unknown(order)).make_plan(algorithm, sms, x, out, op, residual)

    def explain(
        self, nbytes: int, dtype: DTypeLike = "float32", op: Op = "sum", sms: int | None = None, order: Order = "any"
    ) -> Explanation:
        """What an AllReduce of ``nbytes`` bytes will run and why, its plan, and each algorithm's time in us.

        Not collective.
        Raises TypeError (sms), ValueError (nbytes, op, sms, order, PENNYMPI_ALGORITHM), Unsupported (dtype).
        """
        self._guard.check_open()
        if nbytes < 0:
            raise ValueError(f"{nbytes} bytes: a size is not negative")
        name, numbers, _ = reduction(op, dtype_of(dtype))
        chosen = self._selections.get(order) or _unknown(order)
        return chosen.explain(int(nbytes), numbers, name, self._sums["any"].limits(sms))


def _unknown(order: Any) -> NoReturn:
    raise ValueError(f"order {order!r} is unknown: use 'any' or 'canonical'")
