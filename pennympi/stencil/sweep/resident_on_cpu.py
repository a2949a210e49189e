"""All sweeps in one launch of one block on a CPU, which exchanges the halos itself (``kernels/sweep/resident.py``)."""

from collections.abc import Callable
from typing import Any

from ...kernels.sweep.resident import Passes, resident_kernel
from ..grid.exchange import Halos
from .norm import SweepNorm
from .passes import pass_kernel, pass_sizes
from .problem import SweepProblem


def resident(problem: SweepProblem, depth: int, norm: SweepNorm | None) -> Callable[[Any], None]:
    """A function that enqueues the launch of all sweeps in a stream.  Collective."""
    context = problem.context
    sizes = pass_sizes(problem.sweeps, depth)
    kernel = pass_kernel(problem, sizes[0], problem.norms)
    compiled = problem.compiled(resident_kernel(kernel.kernel), problem.options())
    halos = [Halos(context, problem.parts, [view], depth > 1) for view in problem.views[:2]]
    of_coefficient = problem.exchange_of_coefficient(depth)
    scratch, box = problem.new_bytes(kernel.scratch_bytes), problem.live(0)
    passes = Passes(len(sizes), sizes.count(sizes[0]), sizes[0], sizes[-1], problem.sweeps - problem.n_levels)
    words = norm.words(0) if norm else 0
    call = (*problem.fields(0, 0), *box, *problem.sides, problem.numbers, words, scratch.address)
    run = compiled.prepare(1, (*call, *passes, *halos[0].halo, *halos[1].halo), (0, 1))
    fields = problem.views[1].address, problem.views[0].address

    def enqueue(stream: Any) -> None:
        if of_coefficient:
            of_coefficient(stream)
        run(*fields, context.backend.streams.handle(stream))

    enqueue.keeps = halos, scratch  # type: ignore[attr-defined]  # keeps their memory alive
    return enqueue
