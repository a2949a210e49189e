"""The collectives whose parts have any length, as their user calls them."""

from typing import TypeVar

from mpi4py import MPI

from ..annotations import (
    AllGathervAlgorithm,
    AllToAllvAlgorithm,
    AnyStream,
    Array,
    Counts,
    Op,
    Plan,
    ReduceScattervAlgorithm,
)
from .base import CollectiveContext
from .by_counts import AllGatherv, AllToAllv, ReduceScatterv

ArrayT = TypeVar("ArrayT", bound=Array)


class VariableCounts:
    """MPI's collectives whose names end with v.  Counts and displacements are numbers of elements, one for each PE.

    On the host they are a sequence of ints: a part that does not fit raises ValueError before anything is sent, and the
    counts of all_gatherv and reduce_scatterv belong to the text by which PEs compare their calls.  On the device they are
    an int64 array (n_pes,), which the kernel reads when it runs: a plan or a graph can be replayed with other counts, if
    the arrays have room for the largest counts.  A part that does not fit then raises CountError, and the kernel writes
    nothing outside the arrays.  If a PE sends another number of elements than its receiver expects,
    CollectiveMismatchError is raised.  After an error of a kernel, as after PeerTimeout, this PE makes no more calls.
    Without displacements parts are packed, one after another in the order of the PEs.
    """

    def __init__(self, context: CollectiveContext):
        self._all_gatherv, self._all_to_allv = AllGatherv(context), AllToAllv(context)
        self._reduce_scatterv = ReduceScatterv(context)

    def all_gatherv(
        self,
        x: Array | MPI.InPlaceType,
        out: ArrayT,
        counts: Counts,
        displacements: Counts | None = None,
        algorithm: AllGathervAlgorithm = "auto",
        stream: AnyStream | None = None,
        sms: int | None = None,
    ) -> ArrayT:
        """Part pe of out = the x of PE pe, of counts[pe] elements; returns out.  Collective.

        x: counts[me] elements; if the counts are on the device, x may have more elements
        out: an array of the same dtype, in which part pe begins at displacements[pe]
        counts: the same on every PE;  displacements: starts of the parts in this PE's out
        In place when x is MPI.IN_PLACE or, with counts on the host, this PE's part of out.
        Raises TypeError, ValueError, Unsupported, CountError, CollectiveMismatchError, PeerTimeout; see ``Collectives``.
        """
        self._all_gatherv.run_eager(algorithm, stream, sms, x, out, counts, displacements)
        return out

    def plan_all_gatherv(
        self,
        x: Array | MPI.InPlaceType,
        out: Array,
        counts: Counts,
        displacements: Counts | None = None,
        algorithm: AllGathervAlgorithm = "auto",
        sms: int | None = None,
    ) -> Plan:
        """A persistent ``all_gatherv``.  Collective.  Raises as ``all_gatherv``."""
        return self._all_gatherv.make_plan(algorithm, sms, x, out, counts, displacements)

    def reduce_scatterv(
        self,
        x: Array,
        out: ArrayT,
        counts: Counts,
        op: Op = "sum",
        algorithm: ReduceScattervAlgorithm = "auto",
        stream: AnyStream | None = None,
        sms: int | None = None,
    ) -> ArrayT:
        """out = this PE's part, of counts[me] elements, of op over all PEs of x; returns out.  Collective.

        x: a part for each PE, of counts[pe] elements, one after another;  out: an array of the same dtype
        counts: the same on every PE, as in MPI's Reduce_scatter
        Values are added in the order of the PEs.  In place when out is this PE's part of x, and counts are on the host.
        Raises TypeError, ValueError, Unsupported, CountError, CollectiveMismatchError, PeerTimeout; see ``Collectives``.
        """
        self._reduce_scatterv.run_eager(algorithm, stream, sms, x, out, counts, op)
        return out

    def plan_reduce_scatterv(
        self,
        x: Array,
        out: Array,
        counts: Counts,
        op: Op = "sum",
        algorithm: ReduceScattervAlgorithm = "auto",
        sms: int | None = None,
    ) -> Plan:
        """A persistent ``reduce_scatterv``.  Collective.  Raises as ``reduce_scatterv``."""
        return self._reduce_scatterv.make_plan(algorithm, sms, x, out, counts, op)

    def all_to_allv(
        self,
        x: Array | MPI.InPlaceType,
        out: ArrayT,
        send_counts: Counts | None,
        receive_counts: Counts,
        send_displacements: Counts | None = None,
        receive_displacements: Counts | None = None,
        algorithm: AllToAllvAlgorithm = "auto",
        stream: AnyStream | None = None,
        sms: int | None = None,
    ) -> ArrayT:
        """Part pe of out = part ``me`` of the x of PE pe; returns out.  Collective.

        x, out: arrays of the same dtype, in which part pe has send_counts[pe], or receive_counts[pe], elements and begins
           at send_displacements[pe], or receive_displacements[pe]
        The receive_counts[pe] of this PE is the send_counts[me] of PE pe.
        In place when x is MPI.IN_PLACE and send_counts is None: PEs then swap parts of the same length.
        Raises TypeError, ValueError, Unsupported, CountError, CollectiveMismatchError, PeerTimeout; see ``Collectives``.
        """
        displacements = send_displacements, receive_displacements
        self._all_to_allv.run_eager(algorithm, stream, sms, x, out, send_counts, receive_counts, *displacements)
        return out

    def plan_all_to_allv(
        self,
        x: Array | MPI.InPlaceType,
        out: Array,
        send_counts: Counts | None,
        receive_counts: Counts,
        send_displacements: Counts | None = None,
        receive_displacements: Counts | None = None,
        algorithm: AllToAllvAlgorithm = "auto",
        sms: int | None = None,
    ) -> Plan:
        """A persistent ``all_to_allv``.  Collective.  Raises as ``all_to_allv``."""
        displacements = send_displacements, receive_displacements
        return self._all_to_allv.make_plan(algorithm, sms, x, out, send_counts, receive_counts, *displacements)
