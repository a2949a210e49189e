"""What the collectives whose parts have any length share: they run on one PE too, and wherever the counts lie."""

from typing import Any

from ..annotations import Plan
from ..arrays.array_view import ArrayView
from ..arrays.dtypes import DType
from ..kernels.algorithm import Algorithm
from ..kernels.records import Parts
from .base import Collective, CollectiveContext, Request
from .counts import Counts, CountsReader


class ByCounts(Collective):
    """A collective by counts.  All that a call changes, the length of its arrays too, is among the ``addresses``."""

    address_params = (
        "out", "src", "send_counts", "send_starts", "receive_counts", "receive_starts", "src_elems", "out_elems",
        "elem_bytes",
    )  # fmt: skip
    moves_bytes = runs_alone = True

    def __init__(self, context: CollectiveContext):
        super().__init__(context)
        self._reader = CountsReader(self.backend, self.arrays, self.job.n_pes, self._checked.clear)
        self._facts = self._facts_and_counts

    def run_eager(self, algorithm: str | Algorithm, stream: Any, sms: int | None, *args: Any) -> None:
        """See ``Collective``.  What a graph has captured it reads whenever it is replayed."""
        self._reader.begin(self.backend.streams.capture_id(self.backend.streams.handle(stream)) != 0)
        super().run_eager(algorithm, stream, sms, *args)

    def make_plan(self, algorithm: str | Algorithm, sms: int | None, *args: Any) -> Plan:
        """See ``Collective``."""
        self._reader.begin(True)
        return super().make_plan(algorithm, sms, *args)

    def _facts_and_counts(self, args: tuple[Any, ...]) -> tuple[Any, ...] | None:
        """``Backend.facts``, with counts that are lists or tuples of ints."""
        if self._reader.keeps:
            return None
        given, others = [], []
        for arg in args:
            if type(arg) in (list, tuple) and all(type(one) is int for one in arg):
                given.append(tuple(arg))
                arg = len(arg)
            others.append(arg)
        facts = self.backend.heap.facts(tuple(others))
        return None if facts is None else (*facts, *given)

    def alike(self, x: Any, out: Any) -> tuple[ArrayView, ArrayView]:
        """Both arrays.  Raises as ``views``, ValueError where their dtypes differ."""
        src, dst, _ = self.views(x, out)
        if src.dtype is not dst.dtype:
            raise ValueError(f"x is of {src.dtype.name} and out of {dst.dtype.name}: give the same dtype")
        return src, dst

    def record(self, request: Request, dtype: DType, count: int, piece_elems: int) -> Parts:
        """See ``Collective``."""
        return Parts(0, 0, 0, 0, 0, 0, 0, 0, 0, dtype.item_bytes, piece_elems * dtype.item_bytes)

    @staticmethod
    def request(
        src: ArrayView,
        dst: ArrayView,
        sent: Counts,
        taken: Counts,
        text: str,
        dtype: DType | None = None,
        op: str = "",
        count: int = 0,
    ) -> Request:
        """A checked call.  dtype: of the numbers that are added up;  count: ``Request.n_elems``"""
        addresses = (
            dst.address, src.address, sent.counts, sent.starts, taken.counts, taken.starts, src.count, dst.count,
            src.dtype.item_bytes,
        )  # fmt: skip
        return Request(addresses, count, dtype or src.dtype, op, False, counts=text)
