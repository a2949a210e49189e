"""Sweeps in passes over memory, several sweeps a pass, and an exchange of halos before each pass.

    stream | T sweeps of the sides | T sweeps of all other points ... | next pass
    push   |                       | exchange of the new field ...... |

A small field is swept by one launch a pass, and the exchange follows.
"""

import math
from collections.abc import Callable
from itertools import accumulate
from typing import Any

from ...backend import Run
from ...compile.pass_kernel import PassKernel
from ...kernels.sweep.norm import MOST_GROUP_POINTS
from ...kernels.sweep.records import Box
from ..grid.overlap import boxes_of, overlapped
from .norm import SweepNorm
from .problem import Norms, SweepProblem, box_between

# The least bytes of a PE's points for which its sides are swept first: with fewer, an additional launch takes longer than
# the exchange that it hides.
SPLIT_MIN_BYTES = {"host": 1 << 62, "cuda": 64 << 20, "simulated": 0}


def pass_sizes(sweeps: int, depth: int, norms: str = "none") -> list[int]:
    """Number of sweeps of each pass, at most ``depth`` and nearly equal.

    The number of passes is even if and only if ``sweeps`` is even, so that the result is in the field ``Sweep.newest``.
    norms: "last": the last sweep, which has a norm, is its own pass, if the number of passes does not grow
    """
    if norms == "last" and sweeps > 1:
        separate, together = [*pass_sizes(sweeps - 1, depth), 1], pass_sizes(sweeps, depth)
        return separate if len(separate) <= len(together) else together
    passes = -(-sweeps // depth)
    passes += (passes - sweeps) % 2
    few, rest = divmod(sweeps, passes)
    return [few + 1] * rest + [few] * (passes - rest)


def kernels_of(problem: SweepProblem) -> Any:
    """The module with the backend's kernels of passes.  Its import loads a compiler."""
    name = problem.context.backend.name
    if name == "cuda":
        from ..on_gpu import passes as on_gpu

        return on_gpu
    if name == "simulated":
        from ...simulator import sweep_pass

        return sweep_pass
    from .. import on_cpu

    return on_cpu


def most_sweeps(problem: SweepProblem) -> int:
    """The most sweeps of a pass of the backend."""
    most: int = kernels_of(problem).most_sweeps(problem.stencil)
    return most


def pass_kernel(problem: SweepProblem, size: int, norms: str) -> PassKernel:
    """The backend's kernel of a pass of ``size`` sweeps."""
    kernel: PassKernel = kernels_of(problem).pass_kernel(problem.stencil, size, norms, problem.end)
    return kernel


def passes(problem: SweepProblem, depth: int, norm: SweepNorm | None) -> Callable[[Any], None]:
    """A function that enqueues the launches and the exchanges of all sweeps in a stream.  Collective."""
    backend, parts, views = problem.context.backend, problem.parts, problem.views
    sizes = pass_sizes(problem.sweeps, depth, problem.norms)
    last, starts = len(sizes) - 1, [0, *accumulate(sizes)]
    before_last = "none" if problem.norms == "last" else problem.norms
    kinds = [(size, problem.norms if i == last else before_last) for i, size in enumerate(sizes)]
    own = parts.own(problem.me)
    neighbours = {pe for d in range(len(own)) for pe in parts.neighbours_along(problem.me, d)}
    large = math.prod(own) * problem.stencil.item_bytes >= SPLIT_MIN_BYTES[backend.name]
    split = large and bool(neighbours - {None, problem.me})
    boxes = boxes_of(parts, problem.me, MOST_GROUP_POINTS) if split else []
    push = backend.streams.new("high") if split else None
    kernels = {kind: pass_kernel(problem, *kind) for kind in dict.fromkeys(kinds)}
    scratch = problem.new_bytes(max(kernel.scratch_bytes for kernel in kernels.values()))

    def prepared(kind: tuple[int, Norms], box: Box) -> Run:
        """A launch that takes the addresses new, old and words."""
        of_kind = kernels[kind]
        blocks, threads, cut = of_kind.launch(box, problem.storage)
        live = problem.live(kind[0])
        arguments = (*problem.fields(0, 0), *box, *live, *cut, problem.numbers, 0, scratch.address)
        kernel = problem.compiled(of_kind.kernel, problem.options(of_kind.bounds, of_kind.shared_bytes))
        return kernel.prepare(blocks, arguments, (0, 1, len(arguments) - 2), threads)

    whole = problem.live(0)
    filled = [box_between(*edges) for edges in boxes if all(low < high for low, high in zip(*edges, strict=True))]
    runs = {(kind, box): prepared(kind, box) for kind in kernels for box in (whole, *filled)}
    exchanges = [problem.exchange(k, depth > 1) for k in range(min(2, len(sizes)))]
    of_coefficient = problem.exchange_of_coefficient(depth)

    def launch(i: int, box: Box, stream: Any) -> None:
        """Enqueue pass i of a box."""
        level = starts[i] if problem.norms == "every" else 0
        words = norm.words(level) if norm else 0
        run = runs[kinds[i], box]
        run(views[1 - i % 2].address, views[i % 2].address, words, backend.streams.handle(stream))

    def enqueue(stream: Any) -> None:
        if of_coefficient:
            of_coefficient(stream)
        exchanges[0](stream)
        for i in range(last):
            following = exchanges[1 - i % 2]
            if boxes:
                with overlapped(backend, push, boxes, following, stream) as parts_of_pass:
                    for part in parts_of_pass:
                        launch(i, box_between(part.first, part.stop), part.stream)
            else:
                launch(i, whole, stream)
                following(stream)
        launch(last, whole, stream)

    enqueue.keeps = scratch  # type: ignore[attr-defined]  # keeps the memory alive
    return enqueue
