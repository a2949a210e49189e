"""Sweeps in passes over memory, several sweeps a pass, and an exchange of halos before each pass.

    stream | T sweeps of the sides | T sweeps of all other points ... | next pass
    push   |                       | exchange of the new field ...... |

So large fields are swept (``overlapped``).  A pass of a small field is one launch, and the exchange comes after it.
"""

from itertools import accumulate
from typing import Any

from ...backend import Run
from ...compile.pass_kernel import PassKernel
from ...kernels.sweep.norm import MOST_GROUP_POINTS
from ...kernels.sweep.records import Box
from ..overlap import boxes_of, overlapped
from .norm import SweepNorm
from .problem import SweepProblem, box_between

# Bytes of a PE's points from which on its sides are swept first: for fewer, that takes longer than the exchange it hides.
SPLIT_MIN_BYTES = {"host": 1 << 62, "cuda": 64 << 20}


def pass_sizes(sweeps: int, depth: int, norms: str = "none") -> list[int]:
    """Sweeps of each pass, at most ``depth`` and nearly equal.

    The number of passes is even if that of sweeps is, so that the result is in the field ``Sweep.newest``.
    norms: "last": the sweep with a norm is a pass of its own, if that takes no more passes
    """
    if norms == "last" and sweeps > 1:
        apart, together = [*pass_sizes(sweeps - 1, depth), 1], pass_sizes(sweeps, depth)
        return apart if len(apart) <= len(together) else together
    passes = -(-sweeps // depth)
    passes += (passes - sweeps) % 2
    few, more = divmod(sweeps, passes)
    return [few + 1] * more + [few] * (passes - more)


def deepest_pass(problem: SweepProblem) -> int:
    """How many sweeps a pass of the backend does at most."""
    most: int = problem.device_module().deepest(problem.stencil)
    return most


def pass_kernel(problem: SweepProblem, size: int, norms: str) -> PassKernel:
    """The backend's kernel of a pass."""
    made: PassKernel = problem.device_module().pass_kernel(problem.stencil, size, norms, problem.end)
    return made


class Passes:
    """The launches and the exchanges of a plan of sweeps.  Making one is collective."""

    def __init__(self, problem: SweepProblem, depth: int, norm: SweepNorm | None):
        self._problem, self._norm, self._whole = problem, norm, problem.live(0)
        self._backend = problem.context.backend
        self._sizes = pass_sizes(problem.sweeps, depth, problem.norms)
        self._starts = [0, *accumulate(self._sizes)]
        split = problem.has_others_beside and problem.own_bytes >= SPLIT_MIN_BYTES[self._backend.name]
        self._boxes = boxes_of(problem.parts, problem.me, MOST_GROUP_POINTS) if split else []
        self._push = self._backend.streams.new("high") if split else None
        self._made = {
            key: pass_kernel(problem, *key) for key in {(n, self._norms_of(i)) for i, n in enumerate(self._sizes)}
        }
        scratch_bytes = max(made.scratch_bytes for made in self._made.values())
        self._scratch = problem.new_bytes(scratch_bytes)
        self._runs: dict[tuple[int, str, Box], Run] = {}
        parts = [box_between(*one) for one in self._boxes if all(low < high for low, high in zip(*one, strict=True))]
        wanted = [self._whole, *parts]
        for i, size in enumerate(self._sizes):  # compiles all of them before anything is sent
            for box in wanted:
                self._run(size, self._norms_of(i), box)
        self._exchanges = [problem.exchange(k, depth > 1) for k in range(min(2, len(self._sizes)))]
        self._of_coefficient = problem.exchange_of_coefficient(depth)

    def _norms_of(self, i: int) -> str:
        """The norms that pass i computes."""
        if self._problem.norms == "last":
            return "last" if i == len(self._sizes) - 1 else "none"
        return self._problem.norms

    def _run(self, size: int, norms: str, box: Box) -> Run:
        """A launch that leaves new, old and words open."""
        key = size, norms, box
        if key not in self._runs:
            problem, made = self._problem, self._made[size, norms]
            blocks, threads, cut = made.launch(box, problem.storage)
            scratch = self._scratch.address
            arguments = (*problem.fields(0, 0), *box, *problem.live(size), *cut, problem.numbers, 0, scratch)
            kernel = problem.compiled(made.kernel, problem.options(made.bounds, made.shared_bytes))
            words = len(arguments) - 2
            self._runs[key] = kernel.prepare(blocks, arguments, (0, 1, words), threads)
        return self._runs[key]

    def _launch(self, i: int, box: Box, stream: Any) -> None:
        """Enqueue pass i of a box."""
        views = self._problem.views
        level = self._starts[i] if self._problem.norms == "every" else 0
        words = self._norm.words(level) if self._norm else 0
        run = self._run(self._sizes[i], self._norms_of(i), box)
        run(views[1 - i % 2].address, views[i % 2].address, words, self._backend.streams.handle(stream))

    def __call__(self, stream: Any) -> None:
        """Enqueue all sweeps."""
        if self._of_coefficient:
            self._of_coefficient(stream)
        self._exchanges[0](stream)
        for i in range(len(self._sizes)):
            if i == len(self._sizes) - 1:
                self._launch(i, self._whole, stream)
            elif self._boxes:
                with overlapped(self._backend, self._push, self._boxes, self._exchanges[1 - i % 2], stream) as parts:
                    for part in parts:
                        self._launch(i, box_between(part.first, part.stop), part.stream)
            else:
                self._launch(i, self._whole, stream)
                self._exchanges[1 - i % 2](stream)
