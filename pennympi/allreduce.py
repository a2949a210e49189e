"""AllReduce on the host side: check, lay out, launch."""

from collections.abc import Callable
from typing import Any

from .backend import Backend, Run
from .dtypes import DType
from .errors import Unsupported
from .job import Job
from .kernels.algorithm import Algorithm, Limits, Place
from .kernels.rma.on_stream import put_bytes
from .lane import Lane, make_lane
from .operators import operator_name
from .order import InOrder
from .selection import Selection
from .settings import setting
from .span import Span, check_alike, check_apart
from .symmetric import SymmetricArrays

OUT, SRC = 4, 5  # index of ``out`` and ``src`` among a text's parameters after ``here``


class AllReduce:
    """The AllReduces of one team.

    Calls that are not captured share one lane and run in the order in which they
    were issued, whatever their streams.  A captured graph has a lane of its own,
    and so has a plan, for it may be replayed beside anything else.
    """

    def __init__(self, backend: Backend, job: Job, arrays: SymmetricArrays, place: Place, selection: Selection):
        self._backend, self._job, self._arrays, self._place = backend, job, arrays, place
        self._limits = Limits(backend.max_blocks, backend.half_bytes)
        self._selection = selection
        self._lanes: dict[tuple[str, int], Lane] = {}
        self._ready: dict[tuple[Any, ...], Run] = {}
        self._captures: dict[int, int] = {}
        self._in_order = InOrder(backend)
        self._plans = 0

    def check(self, x: Any, out: Any, op: Any) -> tuple[Span, Span, str]:
        """(src, dst, op name).  Raises TypeError, ValueError or Unsupported, before anything is sent."""
        name = operator_name(op)
        src = self._backend.span(x, out is None)
        self._arrays.holds(src)
        if out is None or out is x:
            return src, src, name
        dst = self._backend.span(out, True)
        self._arrays.holds(dst)
        check_alike(x=src, out=dst)
        check_apart("out=None for in place", x=src, out=dst)
        return src, dst, name

    def call(self, x: Any, out: Any, op: Any, algorithm: str, stream: Any) -> Any:
        """out = op over all PEs of x, in stream order."""
        src, dst, name = self.check(x, out, op)
        handle = self._backend.stream_handle(stream)
        capture = self._backend.capture_id(handle)
        aligned = not (src.address | dst.address) & 15
        run = self._ready.get((src.count, src.dtype, name, algorithm, aligned, capture))
        if run is None:
            lane = 0 if capture == 0 else self._graph_lane(capture)
            run = self._prepare(src.count, src.dtype, name, algorithm, aligned, lane, capture != 0)
            self._ready[src.count, src.dtype, name, algorithm, aligned, capture] = run
        self._in_order.follow(handle, stream)
        run(dst.address, src.address, handle)
        return x if out is None else out

    def plan(self, x: Any, out: Any, op: Any, algorithm: str) -> Callable[..., None]:
        """A persistent call on fixed arrays, with a lane of its own.  Collective."""
        src, dst, name = self.check(x, out, op)
        self._plans += 1
        aligned = not (src.address | dst.address) & 15
        run = self._prepare(src.count, src.dtype, name, algorithm, aligned, -self._plans, False)
        first, second, enter, handle = dst.address, src.address, self._job.control.enter, self._backend.stream_handle

        def plan(stream: Any = None) -> None:
            """Run in stream order; calls of one plan must not overlap one another."""
            enter("allreduce plan")
            run(first, second, handle(stream))

        plan.arrays = (x, out)  # type: ignore[attr-defined]  # keeps the memory alive
        return plan

    def _graph_lane(self, capture: int) -> int:
        """The lane of a graph under capture: 1, 2, ..., and round again."""
        if capture not in self._captures:
            self._captures[capture] = 1 + len(self._captures) % setting("PENNYMPI_GRAPH_LANES")
        return self._captures[capture]

    def _prepare(
        self, count: int, dtype: DType, op: str, algorithm: str, aligned: bool, lane: int, capturing: bool
    ) -> Run:
        backend, n_pes = self._backend, self._job.n_pes
        row = self._selection.choose(algorithm, self._place, count * dtype.item_bytes, dtype.name, op)
        if count == 0:
            return lambda dst, src, stream: None
        if n_pes == 1:
            return self._copy(count * dtype.item_bytes)
        if capturing and (row.name, lane) not in self._lanes:
            raise Unsupported(
                f"the first allreduce by {row.name} is under graph capture, and it has to allocate: "
                "make the same call once before the capture, or use team.plan_allreduce"
            )
        self._allocate(row, lane)
        kernel = backend.kernel(
            row.kernel,
            f"allreduce ({row.name})",
            reduction=(dtype, op),
            constants={"n_pes": n_pes, "item_bytes": dtype.item_bytes, "acc_bytes": dtype.acc_bytes},
            aligned=aligned and count * dtype.item_bytes % 16 == 0,
        )
        plan = row.plan(count, dtype.item_bytes, dtype.acc_bytes, self._place, self._limits)
        at = self._lanes[row.name, lane]
        sizes = (
            self._job.me,
            n_pes,
            dtype.item_bytes,
            dtype.acc_bytes,
            0,
            0,
            count,
            plan.piece_elems,
            backend.half_bytes,
        )
        return kernel.prepare(
            plan.blocks, (*sizes, at.inbox, at.outbox, at.signals, at.epochs, at.ways), (OUT, SRC), plan.threads
        )

    def _allocate(self, row: Algorithm, lane: int) -> None:
        """Make the lane, and with the shared one those of the graphs that may come."""
        wanted = [lane]
        if lane == 0 and self._backend.can_capture:
            wanted += range(1, 1 + setting("PENNYMPI_GRAPH_LANES"))
        blocks = self._limits.max_blocks
        nbytes = blocks * 2 * self._limits.half_bytes
        for one in wanted:
            if (row.name, one) not in self._lanes:
                outbox_bytes = nbytes if row.outbox or self._backend.needs_scratch else 0
                ways = row.ways(self._place, self._job.me) if row.ways else ()
                self._lanes[row.name, one] = make_lane(
                    self._backend, self._job, nbytes, outbox_bytes, blocks * row.signals(self._place), blocks, ways
                )

    def _copy(self, nbytes: int) -> Run:
        """AllReduce of one PE."""
        kernel = self._backend.kernel(put_bytes, "allreduce of one PE")
        blocks = max(1, min(self._backend.max_blocks, nbytes // 16384))
        run = kernel.prepare(blocks, (0, 0, nbytes, 0), (0, 1))
        return lambda dst, src, stream: None if dst == src else run(dst, src, stream)
