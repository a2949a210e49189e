"""All sweeps in one launch.

On a CPU the launch has one block, whose passes exchange the halos inside (``kernels/sweep/resident.py``).
"""

import weakref
from collections.abc import Callable
from typing import Any

from ...compile.options import KernelOptions
from ...kernels.sweep.records import Box, Cut
from ...kernels.sweep.resident import Counts, resident_kernel
from ..exchange import halos_of, plan_exchange, text_of
from .norm import SweepNorm
from .passes import pass_kernel, pass_sizes
from .problem import SweepProblem


def prepare(problem: SweepProblem, depth: int, norm: SweepNorm | None) -> Callable[[Any], None]:
    """A function that enqueues all sweeps in a stream.  Collective."""
    return OnCPU(problem, depth, norm)


def with_cut(kernel: Callable[..., None], cut: Cut) -> Callable[..., None]:
    """The kernel of a pass, whatever cut it is called with."""
    chunk, lead = cut

    def one_pass(ctx, fields, box, live, _, values, words, scratch):
        kernel(ctx, fields, box, live, Cut(chunk, lead), values, words, scratch)

    return one_pass


class OnCPU:
    """The launch of a plan of sweeps on a CPU.  Making one is collective."""

    def __init__(self, problem: SweepProblem, depth: int, norm: SweepNorm | None):
        self._backend, context = problem.context.backend, problem.context
        *sizes, last = pass_sizes(problem.sweeps, depth)
        depths = (sizes[0] if sizes else last), last, last
        n_large = sizes.count(depths[0])
        each = "every" if problem.norms == "every" else "none"
        made = [pass_kernel(problem, depths[0], each), pass_kernel(problem, last, each)]
        made.append(pass_kernel(problem, last, problem.norms))
        box, storage = problem.live(0), problem.storage
        large, small, at_last = (with_cut(one.kernel, one.launch(box, storage)[2]) for one in made)
        kernel = resident_kernel(large, small, at_last, depths, problem.norms == "every")
        options = KernelOptions(elements=problem.dtype, fused=False)
        compiled = problem.compiled(kernel, options)
        corners = depth > 1
        halos = []
        for span in problem.spans[:2]:
            halos.append(
                halos_of(context, problem.parts, [span], corners, text_of(context, problem.parts, [span], corners))
            )
            weakref.finalize(self, halos[-1].release).atexit = False
        self._of_coefficient = None
        if problem.stencil.has_coefficient and corners:
            span = problem.spans[2]
            self._of_coefficient = plan_exchange(context, problem.parts, [span], [span.owner], corners)
        self._scratch = problem.new_bytes(max(one.scratch_bytes for one in made))
        sides = Box(*(abs(a - b) for a, b in zip(box, problem.live(1), strict=True)))
        blocks, threads, cut = made[0].launch(box, storage)
        words = norm.words(0) if norm else 0
        counts = Counts(n_large, len(sizes) - n_large)
        arguments = (
            *problem.fields(0, 0), *box, *sides, *cut, *counts, problem.numbers, words, self._scratch.address,
            *halos[0].halo, *halos[1].halo,
        )  # fmt: skip
        self._run = compiled.prepare(blocks, arguments, (0, 1), threads)
        self._fields = problem.spans[1].address, problem.spans[0].address

    def __call__(self, stream: Any) -> None:
        """Enqueue all sweeps."""
        if self._of_coefficient:
            self._of_coefficient(stream)
        self._run(*self._fields, self._backend.stream_handle(stream))
