"""All sweeps in one launch of one block on a CPU, which exchanges the halos itself (``kernels/sweep/resident.py``)."""

import weakref
from typing import Any

from ...kernels.sweep.records import Box
from ...kernels.sweep.resident import Passes, resident_kernel
from ..exchange import halos_of, text_of
from .norm import SweepNorm
from .passes import pass_kernel, pass_sizes
from .problem import SweepProblem


class Resident:
    """The launch of a plan of sweeps on a CPU.  Making one is collective."""

    def __init__(self, problem: SweepProblem, depth: int, norm: SweepNorm | None):
        self._backend, context = problem.context.backend, problem.context
        sizes = pass_sizes(problem.sweeps, depth)
        made = pass_kernel(problem, sizes[0], problem.norms)
        compiled = problem.compiled(resident_kernel(made.kernel), problem.options())
        halos = []
        for view in problem.views[:2]:
            text = text_of(context, problem.parts, [view], depth > 1)
            halos.append(halos_of(context, problem.parts, [view], depth > 1, text))
            weakref.finalize(self, halos[-1].release).atexit = False
        self._of_coefficient = problem.exchange_of_coefficient(depth)
        self._scratch = problem.new_bytes(made.scratch_bytes)
        box = problem.live(0)
        sides = Box(*(abs(a - b) for a, b in zip(box, problem.live(1), strict=True)))
        quiet = problem.sweeps - problem.n_levels
        passes = Passes(len(sizes), sizes.count(sizes[0]), sizes[0], sizes[-1], quiet)
        words = norm.words(0) if norm else 0
        given = (*problem.fields(0, 0), *box, *sides, *passes, problem.numbers, words, self._scratch.address)
        arguments = (*given, *halos[0].halo, *halos[1].halo)
        self._run = compiled.prepare(1, arguments, (0, 1))
        self._fields = problem.views[1].address, problem.views[0].address

    def __call__(self, stream: Any) -> None:
        """Enqueue all sweeps."""
        if self._of_coefficient:
            self._of_coefficient(stream)
        self._run(*self._fields, self._backend.streams.handle(stream))
