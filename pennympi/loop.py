"""A loop that ends by a condition: on a GPU the host launches it once, and takes no part until it has ended."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .annotations import AnyStream
from .arrays.array_view import ArrayView
from .arrays.dtypes import TABLE, DType, positive
from .backend import Body, Run
from .collectives.base import CollectiveContext
from .compile.bind import annotated_kinds
from .compile.options import KernelOptions
from .errors import Unsupported
from .job.on_all import on_all
from .kernels.loop import ENDED, EndCondition, State, begin, decide

THREADS = 32


class Loop:
    """Runs of a body until a value is small enough; made by ``Team.plan_loop``.

    runs: int64 (1,) of the device: number of runs of the body in the last call
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
        words = backend.heap.array_view(backend.heap.new((4,), integers, handle_of(None)), True)
        rest, pause, resumed, end_of_all = range(words.address, words.address + 32, 8)
        self._set = lambda *numbers: backend.heap.copy_in(words.address, np.array([0, *numbers, most]))
        self._set(most, 0)
        state = State(runs.address, (done or own).address, rest, pause, resumed)
        self.runs, self.done, self._words, self._n_bodies = runs.owner, (done or own).owner, words.owner, len(bodies)
        self._most = most

        def launch_of(kernel: Callable[..., None], elements: DType, *numbers: float) -> Run:
            """A launch with the first two numbers left open."""
            options = KernelOptions(elements=elements, kinds=annotated_kinds(kernel))
            return backend.compiler.kernel(kernel, "loop", options).prepare(1, numbers, (0, 1), THREADS)

        clear, condition = launch_of(begin, integers, *state), EndCondition(below, most)
        # A GPU runs all bodies of a turn, so a pause comes after the last body.
        inner, end = (
            launch_of(decide, value.dtype, 0, *state._replace(pause=word), *condition) for word in (end_of_all, pause)
        )

        def start(stream: Any) -> None:
            clear(state.runs, state.done, handle_of(stream))

        def run_of(body: Body, decided: Run) -> Body:
            def run(stream: Any) -> None:
                body(stream)
                decided(value.address, state.runs, handle_of(stream))

            return run

        turn = [*(run_of(body, inner) for body in bodies[:-1]), run_of(bodies[-1], end)]
        self._run = on_all(context.job, "loop", lambda: backend.streams.repeat(start, turn, rest), error_type=Unsupported)
        context.arrays.plans.add(self, (value.address, state.done))

    def __call__(
        self, stream: AnyStream | None = None, every: int | None = None, call: Callable[[int], object] | None = None
    ) -> None:
        """Run the loop, in stream order.  Collective.

        every: number of runs, the same on every PE, after which the host has a turn, such as for a checkpoint.  It is
               rounded up to a multiple of the number of bodies.  With turns of the host, the call returns when the loop
               has ended; None: the host has no turn, and on a GPU the call returns at once
        call:  function that the host calls in its turn, with the number of runs so far, when they have ended on this PE
        Raises NotInitialized, TypeError (not a stream; call), ValueError (every; value or done was freed), Unsupported
        (turns of the host in a graph), PeerTimeout, and what ``call`` raises.
        """
        if every is not None or call is not None:
            self._run_in_parts(stream, every, call)
        else:
            self._enter(self._text)
            self._run(stream)
        if self._context.guard.debug:
            self._compare(stream)

    def _run_in_parts(self, stream: Any, every: Any, call: Any) -> None:
        """Launch the loop part by part, with a turn of the host between them."""
        streams = self._context.backend.streams
        if not callable(call):
            raise TypeError(f"every={every!r} needs call=, a function of the number of runs so far, got {call!r}")
        runs, step = 0, -(-positive("every", every) // self._n_bodies) * self._n_bodies
        if streams.capture_id(streams.handle(stream)):
            raise Unsupported("the host has no turn in a graph: call the loop without every=, or outside the capture")
        streams.synchronize(None)  # an earlier call may be running, in any stream
        try:
            while True:
                self._enter(f"{self._text}, a part of {step}")
                self._set(min(runs + step, self._most), int(runs > 0))
                self._run(stream)
                streams.synchronize(stream)
                if int(self._words[0]) == ENDED:
                    break
                runs = int(self.runs[0])
                call(runs)
        finally:
            self._set(self._most, 0)

    def _compare(self, stream: Any) -> None:
        """Raise CollectiveMismatchError unless all PEs ended with the same value.  A captured loop is not compared."""
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

    def one_element(name: str, array: Any, *dtypes: str) -> ArrayView:
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
            raise TypeError(f"body must be a function of a stream, or a sequence of such functions, got {body!r}")
        _check_sweeps(context, bodies)
        runs = positive("most", most)
        word = None if done is None else one_element("done", done, "int64")
        return bodies, one_element("value", value, "float32", "float64"), float(below), runs, word

    def in_words(arguments: tuple[list[Body], ArrayView, float, int, ArrayView | None]) -> str:
        bodies, view, limit, runs, _ = arguments
        return f"{len(bodies)} bodies, {view.dtype.name}, below {limit!r}, most {runs}"

    return Loop(context, *on_all(context.job, "loop", checked, in_words))


def _check_sweeps(context: CollectiveContext, bodies: list[Body]) -> None:
    """Raise ValueError if a sweep would begin with a field that is older than the last result.

    A body that is no plan may copy the result, so it is assumed to do so.
    """
    older: set[int] = set()
    for body in 2 * bodies:  # the second turn begins with the fields of the end of the first
        move = getattr(body, "move", None)
        addresses = context.arrays.plans.addresses(body)
        if addresses is None:
            older.clear()
        elif move is None:
            older.difference_update(addresses)
        else:
            first, newest = move
            if first in older:
                remedy = "take an even number of sweeps, or two plans: from u to v, then from v to u"
                raise ValueError(f"each run of {body!r} would begin with u, and its result is in v: {remedy}")
            older.add(first)
            older.discard(newest)
