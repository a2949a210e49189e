"""The collectives whose parts have any length: the checks of their calls.

They run on one PE, too, with counts on the host or on the device.
"""

from typing import Any

from mpi4py.MPI import IN_PLACE

from ..annotations import Plan
from ..arrays.array_view import ArrayView, overlap
from ..arrays.operators import reduction
from ..kernels import all_gatherv, all_to_allv, reduce_scatterv
from ..kernels.algorithm import Algorithm
from .base import Collective, CollectiveContext
from .counts import CountsReader, PartCounts
from .kinds import Addresses, Kind


class ByCounts(Collective):
    """A collective by counts."""

    runs_alone = True

    def __init__(self, context: CollectiveContext):
        super().__init__(context)
        self._reader = CountsReader(self.backend, self.arrays, self.job.n_pes, self._checked.clear)
        self._call_key = self._key_with_counts

    def run_eager(self, algorithm: str | Algorithm, stream: Any, sms: int | None, *args: Any) -> None:
        """See ``Collective``.  A graph reads the captured counts at each replay."""
        streams = self.backend.streams
        self._reader.begin(streams.capture_id(self._handle_of(stream)) != 0)
        super().run_eager(algorithm, stream, sms, *args)

    def make_plan(self, algorithm: str | Algorithm, sms: int | None, *args: Any) -> Plan:
        self._reader.begin(True)
        return super().make_plan(algorithm, sms, *args)

    def _key_with_counts(self, args: tuple[Any, ...]) -> tuple[Any, ...] | None:
        """``Heap.call_key``, with counts that are lists or tuples of ints."""
        if self._reader.keeps:
            return None
        arguments: list[Any] = []
        numbers: list[int] = []
        for arg in args:
            if type(arg) is list or type(arg) is tuple:
                if {*map(type, arg)} != {int}:
                    return None
                numbers += arg
                arg = len(arg)
            arguments.append(arg)
        key = self.backend.heap.call_key(tuple(arguments))
        return None if key is None else (*key, *numbers)

    def alike(self, x: Any, out: Any) -> tuple[ArrayView, ArrayView]:
        """Both arrays.  Raises as ``views``, and ValueError if their dtypes differ."""
        src, dst, _ = self.views(x, out)
        if src.dtype is not dst.dtype:
            raise ValueError(f"x has dtype {src.dtype.name} and out has dtype {dst.dtype.name}: give the same dtype")
        return src, dst

    @staticmethod
    def addresses(src: ArrayView, dst: ArrayView, sent: PartCounts, received: PartCounts) -> Addresses:
        """The values that differ between calls of one kind."""
        words = sent.counts, sent.starts, received.counts, received.starts
        return (dst.address, src.address, *words, src.count, dst.count, src.dtype.item_bytes)


class AllGatherv(ByCounts):
    """out = the parts of all PEs, of any length."""

    name = "all_gatherv"
    table = all_gatherv.TABLE
    auto = staticmethod(all_gatherv.AUTO)

    def check(self, x: Any, out: Any, counts: Any, displacements: Any) -> tuple[Addresses, Kind]:
        """See ``Collective``."""
        src, dst = self.alike(out if x is IN_PLACE else x, out)
        parts, me = self._reader.read(counts, displacements), self.job.me
        parts.check_fits(dst, "out", apart=True)
        part = parts.part(me)
        if x is not IN_PLACE:
            if part and src.count != part[0]:
                raise ValueError(f"x has {src.count} elements and counts[{me}] is {part[0]}: pass the elements to send")
            if part and src.address == dst.address + part[1] * dst.dtype.item_bytes:
                src = dst
            elif overlap(src, dst):
                raise ValueError("x and out overlap, and x may not be this PE's part of out: pass MPI.IN_PLACE as x")
        sent = parts if src.address == dst.address else self._reader.at_start(parts)
        return self.addresses(src, dst, sent, parts), Kind(parts.largest, src.dtype, counts=parts.text())


class ReduceScatterv(ByCounts):
    """out = this PE's part, of any length, of op over all PEs of x."""

    name = "reduce_scatterv"
    table = reduce_scatterv.TABLE
    auto = staticmethod(reduce_scatterv.AUTO)

    def check(self, x: Any, out: Any, counts: Any, op: Any) -> tuple[Addresses, Kind]:
        src, dst = self.alike(x, out)
        parts, me = self._reader.read(counts, None), self.job.me
        parts.check_fits(src, "x")
        part, total = parts.part(me), sum(count for count, _ in parts.on_host)
        if part and (src.count != total or dst.count != part[0]):
            raise ValueError(
                f"x has {src.count} elements and out {dst.count}, and by counts x must have {total}, a part for each PE, "
                f"and out {part[0]}, this PE's part"
            )
        in_place = part and dst.address == src.address + part[1] * src.dtype.item_bytes
        if overlap(src, dst) and not in_place:
            raise ValueError("x and out overlap, and out may not be this PE's part of x: pass a copy")
        name, dtype, numbers = reduction(op, src.dtype)
        kind = Kind(parts.largest * numbers, dtype, name, counts=parts.text(numbers))
        return self.addresses(src, dst, parts, self._reader.at_start(parts)), kind


class AllToAllv(ByCounts):
    """out = the parts for this PE, of any length, of every PE's x."""

    name = "all_to_allv"
    table = all_to_allv.TABLE
    auto = staticmethod(all_to_allv.AUTO)

    def check(
        self, x: Any, out: Any, send_counts: Any, receive_counts: Any, send_displacements: Any, receive_displacements: Any
    ) -> tuple[Addresses, Kind]:
        """See ``Collective``.  A PE knows only its own counts: messages bring the peers' counts, which the kernel
        compares."""
        in_place, me = x is IN_PLACE, self.job.me
        src, dst = self.alike(out if in_place else x, out)
        received = sent = self._reader.read(receive_counts, receive_displacements, "receive_")
        if in_place:
            if send_counts is not None or send_displacements is not None:
                raise ValueError("x is MPI.IN_PLACE, so the parts of out are sent: pass None as send_counts")
        else:
            if send_counts is None:
                raise TypeError("send_counts is None: give the number of elements for each PE")
            sent = self._reader.read(send_counts, send_displacements, "send_")
            if overlap(src, dst):
                raise ValueError("x and out overlap: pass MPI.IN_PLACE as x, or a copy")
        sent.check_fits(src, "x")
        received.check_fits(dst, "out", apart=True)
        part, received_part = sent.part(me), received.part(me)
        if part and received_part and part[0] != received_part[0]:
            raise ValueError(
                f"send_counts[{me}] is {part[0]} and receive_counts[{me}] is {received_part[0]} on PE {me}: "
                "make the two counts for the PE itself equal"
            )
        return self.addresses(src, dst, sent, received), Kind(0, src.dtype, counts="parts of")
