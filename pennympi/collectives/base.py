"""What every collective needs on the host side: a workspace, prepared launches, an order of calls."""

import weakref
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ..arrays.dtypes import DType
from ..backend import Backend, Run
from ..compile.bind import CONSTANTS, parameters
from ..errors import Unsupported
from ..job.job import Job
from ..kernels.algorithm import Algorithm, Limits, Place
from ..kernels.rma.on_stream import put_bytes
from ..memory.symmetric import SymmetricArrays
from ..memory.workspace import Workspace, Workspaces

# One call, checked: (at, what).
# at:   the addresses that a launch is given: those of ``opened``
# what: all that a prepared launch depends on: count, dtype, op ("" for none), aligned, then the ``extras``
Request = tuple[tuple[int, ...], tuple[Any, ...]]


@dataclass(frozen=True)
class CollectiveContext:
    """What the collectives of a team share.

    sms: multiprocessors that a call may hold where it does not say (None: all)
    """

    backend: Backend
    job: Job
    arrays: SymmetricArrays
    place: Place
    workspaces: Workspaces
    sms: int | None


class Ready(NamedTuple):
    """A prepared launch, the blocks that it holds while it waits for peers (0: it waits for none), and its workspace."""

    run: Run
    blocks: int
    workspace: int


class Collective:
    """The calls of one collective of one team; a subclass says what a call may be (``check``, which
    raises before anything is sent) and which algorithm runs (``choose``).

    All calls of an algorithm, eager, planned and captured, share one workspace: ``Order`` has them run one
    after another, whatever their streams.  A plan made with ``sms`` has a workspace of its own.

    name:   of the call
    table:  its algorithms
    opened: the texts' parameters that are addresses, given anew at each call
    extras: further parameters that only some texts have; their values are the end of ``what``
    """

    name = ""
    table: ClassVar[Mapping[str, Algorithm]]
    opened: tuple[str, ...] = ("out", "src")
    extras: tuple[str, ...] = ()

    def __init__(self, ground: CollectiveContext):
        self.backend, self.job, self.arrays, self.place = ground.backend, ground.job, ground.arrays, ground.place
        self._workspaces, self._sms, self._order = ground.workspaces, ground.sms, ground.backend.order
        self._ready: dict[tuple[Any, ...], Ready] = {}

    def choose(self, name: str | Algorithm, place: Place, nbytes: int, dtype: str, op: str, /) -> Algorithm:
        """The row to run.  Raises ValueError (unknown name), Unsupported (can't run here)."""
        raise NotImplementedError

    def check(self, *args: Any) -> Request:
        """Raises TypeError, ValueError or Unsupported for a call that can't be."""
        raise NotImplementedError

    def single_pe_run(self, count: int, dtype: DType) -> Run:
        """The collective of one PE: out is src."""
        kernel = self.backend.kernel(put_bytes, f"{self.name} of one PE")
        nbytes = count * dtype.item_bytes
        blocks = max(1, min(self.backend.max_blocks, nbytes // 16384))
        run = kernel.prepare(blocks, (0, 0, nbytes, 0), (0, 1))
        return lambda dst, src, stream: None if dst == src else run(dst, src, stream)

    def after(self, row: Algorithm, run: Run, workspace: Workspace, count: int, dtype: DType) -> Run:
        """The launch, and what has to follow it in its stream."""
        return run

    def call(self, request: Request, algorithm: str | Algorithm, stream: Any, sms: int | None) -> None:
        """Run in stream order."""
        at, what = request
        handle = self.backend.stream_handle(stream)
        ready = self._ready.get((what, algorithm, sms))
        if ready is None:
            ready = self._ready[what, algorithm, sms] = self._prepare(what, algorithm, sms)
        run, blocks, workspace = ready
        if blocks:
            self._order.call(run, at, handle, stream, blocks, workspace)
        else:
            run(*at, handle)

    def plan(self, request: Request, algorithm: str | Algorithm, sms: int | None, *arrays: Any) -> Callable[..., None]:
        """A persistent call; the arrays are kept alive.  Collective."""
        at, what = request
        forget: list[Callable[[], None]] = []
        run, blocks, workspace = self._prepare(what, algorithm, sms, forget)
        name, count_call, handle_of = f"{self.name} plan", self.job.control.enter, self.backend.stream_handle
        in_order = self._order.call

        def plan(stream: Any = None) -> None:
            """Run in stream order."""
            count_call(name)
            handle = handle_of(stream)
            if blocks:
                in_order(run, at, handle, stream, blocks, workspace)
            else:
                run(*at, handle)

        plan.arrays = arrays  # type: ignore[attr-defined]
        for once in forget:
            weakref.finalize(plan, once).atexit = False
        return plan

    def limits(self, sms: int | None) -> Limits:
        """What a plan may use.  Raises TypeError or ValueError for an ``sms`` that is none."""
        most = self.backend.max_blocks
        sms = self._sms if sms is None else sms
        if sms is None:
            return Limits(most, self.backend.buffer_bytes)
        if not isinstance(sms, int | np.integer) or isinstance(sms, bool):
            raise TypeError(f"sms {sms!r} is not an int")
        if sms < 1:
            raise ValueError(f"sms {sms}: a call holds at least one multiprocessor")
        return Limits(min(int(sms), most), self.backend.buffer_bytes)

    def _prepare(
        self, what: tuple[Any, ...], algorithm: str | Algorithm, sms: int | None, forget: list[Any] | None = None
    ) -> Ready:
        """The launch of a call.  forget: of a plan, which gets what gives its own workspace back, if it has one."""
        count, dtype, op, aligned, *extra = what
        n_pes = self.job.n_pes
        limits = self.limits(sms)
        row = self.choose(algorithm, self.place, count * dtype.item_bytes, dtype.name, op)
        if count == 0:
            return Ready(lambda *at_and_stream: None, 0, 0)
        if n_pes == 1:
            return Ready(self.single_pe_run(count, dtype), 0, 0)
        if reason := row.no_room(self.place, limits):
            raise Unsupported(f"{row.name} can't run here: {reason}; use algorithm='auto'")
        plan = row.plan(count, dtype.item_bytes, dtype.acc_bytes, self.place, limits)
        kernel = self.backend.kernel(
            row.kernel,
            f"{self.name} ({row.name})",
            reduction=(dtype, op) if op else None,
            constants=constants(row.kernel, dtype, n_pes, (*self.opened, *self.extras)),
            aligned=aligned and count * dtype.item_bytes % 16 == 0,
        )
        if forget is not None and sms is not None:
            workspace, dead = self._workspaces.own(row, limits.max_blocks)
            forget.append(dead)
        else:
            workspace = self._workspaces.shared(self.name, row)
        values = {
            **dict.fromkeys(self.opened, 0),
            **dict(zip(self.extras, extra, strict=True)),
            **constants(row.kernel, dtype, n_pes, (*self.opened, *self.extras)),
            "me": self.job.me,
            "count": count,
            "n_elems": count,
            "piece_elems": plan.piece_elems,
            **vars(workspace),
            "buffer_bytes": limits.buffer_bytes,
            "nbytes": count * dtype.item_bytes,
            "piece_bytes": plan.piece_elems * dtype.item_bytes,
        }
        names = parameters(row.kernel)[1:]
        left_open = tuple(names.index(name) for name in self.opened)
        run = kernel.prepare(plan.blocks, [values[name] for name in names], left_open, plan.threads)
        blocks = plan.blocks if self.backend.has_streams else 0
        return Ready(self.after(row, run, workspace, count, dtype), blocks, workspace.inbox)


def constants(text: Callable[..., Any], dtype: DType, n_pes: int, opened: Sequence[str] = ()) -> dict[str, int]:
    """The parameters of a text that the machine code may hold as numbers: all of ``CONSTANTS`` but those left open."""
    values = dict.fromkeys(CONSTANTS, 0) | {
        "n_pes": n_pes,
        "item_bytes": dtype.item_bytes,
        "acc_bytes": dtype.acc_bytes,
    }
    return {name: values[name] for name in CONSTANTS if name in parameters(text) and name not in opened}


def check_root(root: Any, n_pes: int) -> int:
    """``root`` as an int.  Raises TypeError or ValueError."""
    if not isinstance(root, int | np.integer) or isinstance(root, bool):
        raise TypeError(f"root {root!r} is not an int")
    if not 0 <= root < n_pes:
        raise ValueError(f"root {root} is outside this team of {n_pes} PEs (0..{n_pes - 1})")
    return int(root)
