"""A loop that ends by itself: on a GPU the host launches it once, and is not asked before it has ended."""

from collections.abc import Callable, Sequence
from typing import Any

from .annotations import AnyStream
from .arrays.array_view import ArrayView
from .arrays.dtypes import TABLE, positive
from .backend import Body
from .collectives.base import CollectiveContext
from .compile.bind import annotated_kinds
from .compile.options import KernelOptions
from .errors import Unsupported
from .job.on_all import on_all
from .kernels.loop import begin, decide

THREADS = 32


class Loop:
    """Runs of a body until a value is small enough; made by ``Team.plan_loop``.

    runs: int64 (1,) of the device: how often the body has run in the last call
    done: int64 (1,) of the device: 0 while the loop runs, 1 when it has ended
    """

    def __init__(
        self,
        context: CollectiveContext,
        bodies: Sequence[Body],
        value: ArrayView,
        below: float,
        most: int,
        done: ArrayView | None,
    ):
        guard = context.guard
        self._context, self._text = context, f"loop {guard.next_plan()} of at most {most} runs"
        self._enter, self._value = guard.count, value.owner
        backend, integers, handle_of = context.backend, TABLE["int64"], context.backend.streams.handle
        runs, own = (backend.heap.array_view(backend.heap.new((1,), integers, handle_of(None)), True) for _ in range(2))
        at, done_at = runs.address, (done or own).address
        self.runs, self.done = runs.owner, (done or own).owner
        clear = backend.compiler.kernel(begin, "loop", KernelOptions(elements=integers)).prepare(
            1, (at, done_at), (0, 1), THREADS
        )
        options = KernelOptions(elements=value.dtype, kinds=annotated_kinds(decide))
        end = backend.compiler.kernel(decide, "loop", options).prepare(1, (0, at, done_at, below, most), (0, 1), THREADS)

        def start(stream: Any) -> None:
            clear(at, done_at, handle_of(stream))

        def run_of(body: Body) -> Callable[[Any], None]:
            def run(stream: Any) -> None:
                body(stream)
                end(value.address, at, handle_of(stream))

            return run

        turn = [run_of(body) for body in bodies]
        self._run = on_all(
            context.job, "loop", lambda: backend.streams.repeat(start, turn, done_at), otherwise=Unsupported
        )
        context.arrays.plans.add(self, (value.address, done_at))

    def __call__(self, stream: AnyStream | None = None) -> None:
        """Run the loop, in stream order.  Collective.

        Raises NotInitialized, TypeError (not a stream), ValueError (value or done was freed), PeerTimeout.
        """
        self._enter(self._text)
        self._run(stream)
        if self._context.guard.debug:
            self._compare(stream)

    def _compare(self, stream: Any) -> None:
        """Raise CollectiveMismatchError unless all PEs ended alike.  A loop that is captured is not compared."""
        backend = self._context.backend
        if not backend.streams.capture_id(backend.streams.handle(stream)):
            backend.streams.synchronize(stream)
            value = self._value.item() if hasattr(self._value, "item") else "unknown"
            end = f"value {value!r} after {self.runs.item()} runs"
            self._context.guard.compare(end, f"the PEs end {self._text} with different values")

    def __repr__(self) -> str:
        return f"<Loop: {self._text}>"


def make_loop(context: CollectiveContext, body: Any, value: Any, below: Any, most: Any, done: Any) -> Loop:
    """See ``Team.plan_loop``."""
    context.guard.check_open()

    def one(name: str, array: Any, *dtypes: str) -> ArrayView:
        view = context.arrays.array_view(array, True)
        context.arrays.holds(view)
        if view.dtype.name not in dtypes:
            raise Unsupported(f"{name} must be of {' or '.join(dtypes)}, got {view.dtype.name}")
        if view.count != 1:
            raise ValueError(f"{name} must have one element, got {view.count}")
        return view

    def checked() -> tuple[list[Body], ArrayView, float, int, ArrayView | None]:
        bodies = list(body) if isinstance(body, Sequence) else [body]
        if not bodies or not all(map(callable, bodies)):
            raise TypeError(f"body must be a function of a stream, or a sequence of such, got {body!r}")
        _check_sweeps(context, bodies)
        runs = positive("most", most)
        word = None if done is None else one("done", done, "int64")
        return bodies, one("value", value, "float32", "float64"), float(below), runs, word

    def in_words(made: tuple[list[Body], ArrayView, float, int, ArrayView | None]) -> str:
        bodies, view, limit, runs, _ = made
        return f"{len(bodies)} bodies, {view.dtype.name}, below {limit!r}, most {runs}"

    return Loop(context, *on_all(context.job, "loop", checked, in_words))


def _check_sweeps(context: CollectiveContext, bodies: list[Body]) -> None:
    """Raise ValueError where a sweep would begin with a field that is older than the last result.

    What is not a plan may copy the result to where it belongs, and is trusted to do so.
    """
    older: set[int] = set()
    for body in 2 * bodies:  # the second turn begins where the first one has ended
        move = getattr(body, "move", None)
        addresses = context.arrays.plans.addresses(body)
        if addresses is None:
            older.clear()
        elif move is None:
            older.difference_update(addresses)
        else:
            first, newest = move
            if first in older:
                remedy = "take an even number of sweeps, or two plans: there from u to v, and back from v to u"
                raise ValueError(f"each run of {body!r} would begin with u, and its result is in v: {remedy}")
            older.add(first)
            older.discard(newest)
