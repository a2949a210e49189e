"""What every collective needs on the host side: a workspace, prepared launches, an order of calls."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from .backend import Backend, Run
from .bind import CONSTANTS, parameters
from .dtypes import DType
from .errors import Unsupported
from .job import Job
from .kernels.algorithm import Algorithm, Limits, Place
from .kernels.rma.on_stream import put_bytes
from .lane import Lane, make_lane
from .order import InOrder
from .settings import setting
from .symmetric import SymmetricArrays

# One call, checked: (at, what).
# at:   the addresses that a launch is given: those of ``opened``
# what: all that a prepared launch depends on: count, dtype, op ("" for none), aligned, then the ``extras``
Asked = tuple[tuple[int, ...], tuple[Any, ...]]


@dataclass(frozen=True)
class Ground:
    """What the collectives of a team share.  in_order: one for all, so that two collectives on two
    streams never hold a device each while they wait for one another's other half."""

    backend: Backend
    job: Job
    arrays: SymmetricArrays
    place: Place
    in_order: InOrder


class Collective:
    """The calls of one collective of one team; a subclass says what a call may be (``check``, which
    raises before anything is sent) and which algorithm runs (``choose``).

    Calls that are not captured share one lane for each algorithm and run in the order in which they
    were issued, whatever their streams.  A captured graph has a lane of its own, and so has a plan,
    for it may be replayed beside anything else.

    name:   of the call
    table:  its algorithms
    opened: the texts' parameters that are addresses, given anew at each call
    extras: further parameters that only some texts have; their values are the end of ``what``
    """

    name = ""
    table: ClassVar[Mapping[str, Algorithm]]
    opened: tuple[str, ...] = ("out", "src")
    extras: tuple[str, ...] = ()

    def __init__(self, ground: Ground):
        self.backend, self.job, self.arrays, self.place = ground.backend, ground.job, ground.arrays, ground.place
        self._limits = Limits(self.backend.max_blocks, self.backend.half_bytes)
        self._lanes: dict[tuple[str, int], Lane] = {}
        self._ready: dict[tuple[Any, ...], Run] = {}
        self._captures: dict[int, int] = {}
        self._in_order = ground.in_order
        self._plans = 0

    def choose(self, name: str | Algorithm, place: Place, nbytes: int, dtype: str, op: str, /) -> Algorithm:
        """The row to run.  Raises ValueError (unknown name), Unsupported (can't run here)."""
        raise NotImplementedError

    def check(self, *args: Any) -> Asked:
        """Raises TypeError, ValueError or Unsupported for a call that can't be."""
        raise NotImplementedError

    def alone(self, count: int, dtype: DType) -> Run:
        """The collective of one PE: out is src."""
        kernel = self.backend.kernel(put_bytes, f"{self.name} of one PE")
        nbytes = count * dtype.item_bytes
        blocks = max(1, min(self.backend.max_blocks, nbytes // 16384))
        run = kernel.prepare(blocks, (0, 0, nbytes, 0), (0, 1))
        return lambda dst, src, stream: None if dst == src else run(dst, src, stream)

    def after(self, row: Algorithm, run: Run, lane: Lane, count: int, dtype: DType) -> Run:
        """The launch, and what has to follow it in its stream."""
        return run

    def call(self, asked: Asked, algorithm: str | Algorithm, stream: Any) -> None:
        """Run in stream order."""
        at, what = asked
        handle = self.backend.stream_handle(stream)
        capture = self.backend.capture_id(handle)
        run = self._ready.get((what, algorithm, capture))
        if run is None:
            lane = 0 if capture == 0 else self._graph_lane(capture)
            run = self._ready[what, algorithm, capture] = self._prepare(what, algorithm, lane, capture != 0)
        self._in_order.follow(handle, stream)
        run(*at, handle)

    def plan(self, asked: Asked, algorithm: str | Algorithm, *arrays: Any) -> Callable[..., None]:
        """A persistent call with a lane of its own; the arrays are kept alive.  Collective."""
        self._plans += 1
        at, what = asked
        run = self._prepare(what, algorithm, -self._plans, False)
        name, enter, handle = f"{self.name} plan", self.job.control.enter, self.backend.stream_handle

        def plan(stream: Any = None) -> None:
            """Run in stream order; calls of one plan must not overlap one another."""
            enter(name)
            run(*at, handle(stream))

        plan.arrays = arrays  # type: ignore[attr-defined]
        return plan

    def _graph_lane(self, capture: int) -> int:
        """The lane of a graph under capture: 1, 2, ..., and round again."""
        if capture not in self._captures:
            self._captures[capture] = 1 + len(self._captures) % setting("PENNYMPI_GRAPH_LANES")
        return self._captures[capture]

    def _prepare(self, what: tuple[Any, ...], algorithm: str | Algorithm, lane: int, capturing: bool) -> Run:
        count, dtype, op, aligned, *extra = what
        n_pes = self.job.n_pes
        row = self.choose(algorithm, self.place, count * dtype.item_bytes, dtype.name, op)
        if count == 0:
            return lambda *at_and_stream: None
        if n_pes == 1:
            return self.alone(count, dtype)
        if capturing and (row.name, lane) not in self._lanes:
            raise Unsupported(
                f"the first {self.name} by {row.name} is under graph capture, and it has to allocate: "
                f"make the same call once before the capture, or use team.plan_{self.name}"
            )
        if reason := row.no_room(self.place, self._limits):
            raise Unsupported(f"{row.name} can't run here: {reason}; use algorithm='auto'")
        plan = row.plan(count, dtype.item_bytes, dtype.acc_bytes, self.place, self._limits)
        self._allocate(row, lane, self._limits.max_blocks if lane >= 0 else plan.blocks)
        kernel = self.backend.kernel(
            row.kernel,
            f"{self.name} ({row.name})",
            reduction=(dtype, op) if op else None,
            constants=constants(row.kernel, dtype, n_pes, self.opened),
            aligned=aligned and count * dtype.item_bytes % 16 == 0,
        )
        at = self._lanes[row.name, lane]
        values = {
            **dict.fromkeys(self.opened, 0),
            **dict(zip(self.extras, extra, strict=True)),
            **constants(row.kernel, dtype, n_pes, self.opened),
            "me": self.job.me,
            "count": count,
            "piece_elems": plan.piece_elems,
            "half_bytes": self._limits.half_bytes,
            **vars(at),
        }
        names = parameters(row.kernel)[1:]
        left_open = tuple(names.index(name) for name in self.opened)
        run = kernel.prepare(plan.blocks, [values[name] for name in names], left_open, plan.threads)
        return self.after(row, run, at, count, dtype)

    def _allocate(self, row: Algorithm, lane: int, blocks: int) -> None:
        """Make the lane for launches of up to ``blocks``, and with the shared one those of the graphs that may come."""
        wanted = [lane]
        if lane == 0 and self.backend.can_capture:
            wanted += range(1, 1 + setting("PENNYMPI_GRAPH_LANES"))
        nbytes = blocks * 2 * self._limits.half_bytes
        for one in wanted:
            if (row.name, one) not in self._lanes:
                outbox_bytes = nbytes if row.outbox or self.backend.needs_scratch else 0
                ways = row.ways(self.place, self.job.me) if row.ways else ()
                self._lanes[row.name, one] = make_lane(
                    self.backend, self.job, nbytes, outbox_bytes, blocks * row.signals(self.place), blocks, ways
                )


def constants(text: Callable[..., Any], dtype: DType, n_pes: int, opened: Sequence[str] = ()) -> dict[str, int]:
    """The parameters of a text that the machine code may hold as numbers: all of ``CONSTANTS`` but those left open."""
    values = {"n_pes": n_pes, "item_bytes": dtype.item_bytes, "acc_bytes": dtype.acc_bytes, "residual": 0}
    return {name: values[name] for name in CONSTANTS if name in parameters(text) and name not in opened}


def check_root(root: Any, n_pes: int) -> int:
    """``root`` as an int.  Raises TypeError or ValueError."""
    if not isinstance(root, int | np.integer) or isinstance(root, bool):
        raise TypeError(f"root {root!r} is not an int")
    if not 0 <= root < n_pes:
        raise ValueError(f"root {root} is outside this team of {n_pes} PEs (0..{n_pes - 1})")
    return int(root)
