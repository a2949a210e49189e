"""The engine that keeps the field in the shared memory of a GPU: each block holds a brick.

One launch does all sweeps.  Its blocks exchange the rims of their bricks, with neighbour PEs through pointers.
"""

import weakref
from typing import Any

from ...compile.options import LaunchBounds
from ...memory.workspace import make_workspace
from .brick_shape import CLOCKS_PER_US, VECTOR_BYTES, Limits, Shape, best_shape
from .brick_tables import at_address, brick_words
from .bricks import Bricks, near
from .norm import SweepNorm
from .problem import SweepProblem

LINE_BYTES = 16
BOUND_THREADS = 128  # kernels are compiled for a multiple of so many threads


def shape(problem: SweepProblem, depth: int | None) -> Shape | None:
    """The bricks of a problem, or None where they do not fit."""
    backend = problem.context.backend
    limits = Limits(backend.resident_blocks, problem.device_module("brick").most_shared_bytes())
    return best_shape(problem.parts, problem.stencil, problem.norms, limits, depth)


def depth(problem: SweepProblem) -> int:
    """Sweeps between two exchanges."""
    found = shape(problem, None)
    return min(problem.sweeps, found.depth) if found else 1


def why_not(problem: SweepProblem, depth: int) -> str | None:
    """Why the engine can't run on this PE; None if it can."""
    backend = problem.context.backend
    if not all(backend.peers.by_pointer[pe] for pe in near(problem.parts, problem.me)):
        return "this PE has no pointer to the memory of a neighbour"
    if not shape(problem, depth):
        return "the field does not fit into the shared memory of the multiprocessors"
    return None


def cost_us(problem: SweepProblem, depth: int) -> float:
    """Predicted microseconds of all sweeps."""
    found = shape(problem, depth)
    return 12 + problem.sweeps * found.clocks / CLOCKS_PER_US if found else float("inf")


class BrickSweeps:
    """The launch of a plan of sweeps.  Making one is collective."""

    def __init__(self, problem: SweepProblem, depth: int, norm: SweepNorm | None):
        backend, stencil, made = problem.context.backend, problem.stencil, shape(problem, depth)
        assert made is not None
        self._backend, self._fields = backend, (problem.views[problem.sweeps % 2].address, problem.views[0].address)
        cells, item_bytes, storage = made.storage, stencil.item_bytes, problem.storage
        plane, row = {3: (storage.plane, storage.row), 2: (storage.row, 0), 1: (0, 0)}[stencil.n_dims]
        arguments = (
            *(0, 0, problem.coefficient, plane, row),
            *self._memory(problem, made),
            *(problem.sweeps, depth, cells.row * item_bytes, cells.plane * item_bytes, made.chunk),
            *(made.cell_bytes, made.cell_bytes * (1 + stencil.has_coefficient)),
            *(problem.numbers, norm.words(0) if norm else 0),
        )
        bounds = LaunchBounds(-(-made.threads // BOUND_THREADS) * BOUND_THREADS)
        options = problem.options(bounds, made.shared_bytes)
        whole = all(edge * item_bytes % VECTOR_BYTES == 0 for edge in problem.parts.edges[-1])
        kernel = problem.compiled(problem.device_module("brick").brick_kernel(stencil, problem.norms, whole), options)
        self._run = kernel.prepare(made.blocks, arguments, (0, 1), made.threads)

    def _memory(self, problem: SweepProblem, made: Shape) -> tuple[int, ...]:
        """Addresses of the bricks' words, of the exchange counters and of the inboxes; bytes of one inbox and of all."""
        backend, job = problem.context.backend, problem.context.job
        bricks = Bricks(problem.parts, made.bricks, made.depth, made.storage, problem.stencil.item_bytes)
        most = max(len(bricks.lines(problem.me, block).pe) for block in range(made.blocks))
        slots = max(job.gather(most, "bricks of sweeps"))
        inbox_bytes = slots * LINE_BYTES
        workspace, release = problem.context.workspaces.kept_for_plan(
            lambda: make_workspace(backend, job, 2 * made.blocks * inbox_bytes, 0, 0, made.blocks)
        )
        weakref.finalize(self, release).atexit = False
        words = brick_words(bricks, problem.me, problem.parts.halo, slots)
        self._words = problem.new_bytes(words.nbytes)
        backend.heap.copy_in(self._words.address, at_address(words, made.blocks, self._words.address))
        return self._words.address, workspace.epochs, workspace.inbox, inbox_bytes, made.blocks * inbox_bytes

    def __call__(self, stream: Any) -> None:
        """Enqueue all sweeps."""
        self._backend.streams.order.enqueue(self._run, self._fields, self._backend.streams.handle(stream), stream)
