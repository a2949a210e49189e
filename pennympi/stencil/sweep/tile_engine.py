"""The engine that keeps a two-dimensional field in the registers of a GPU: each block holds a tile.

One launch does all sweeps.  Blocks store the rims of their tiles, through pointers, into the inboxes of blocks of this PE
and of neighbour PEs.
"""

import weakref
from typing import Any

import numpy as np

from ...memory.workspace import make_workspace
from ..grid.messages import steps_of
from .norm import SweepNorm
from .problem import SweepProblem

DEPTHS = (4, 3, 2, 1)  # tried in this order if the user gives no depth
# Times on an H200: of a launch, of a sweep apart from its rows, and of a row of a warp by (dtype, norms are "every").
LAUNCH_US, SWEEP_US = 10, 0.4
ROW_US = {("float32", False): 0.14, ("float32", True): 0.21, ("float64", False): 0.24, ("float64", True): 0.38}


def tiles(problem: SweepProblem, depth: int) -> Any:
    """The cut of this PE's part into tiles; None if the tiles do not fit on the GPU."""
    blocks = problem.context.backend.resident_blocks
    from ..on_gpu.tile.tile import tiles_of  # the import needs the compiler of GPUs

    return tiles_of(problem.stencil, problem.parts, problem.me, depth, blocks)


def why_not(problem: SweepProblem, depth: int) -> str:
    """The reason why the engine can't run on this PE, or ""."""
    backend, parts, me = problem.context.backend, problem.parts, problem.me
    if problem.stencil.n_dims != 2:
        return "its tiles have two dimensions, use engine='blocked'"
    neighbours = (parts.neighbour(me, step) for step in steps_of(parts, True))
    if not all(pe is None or backend.peers.by_pointer[pe] for pe in neighbours):
        return "this PE has no pointer to the memory of a neighbour"
    if not tiles(problem, depth):
        rows, columns = parts.most
        return f"{backend.resident_blocks} blocks can't hold a part of {rows} x {columns} points at depth {depth}"
    return ""


def depth(problem: SweepProblem) -> int:
    """The largest of DEPTHS whose tiles fit."""
    return min(problem.sweeps, next((n_sweeps for n_sweeps in DEPTHS if tiles(problem, n_sweeps)), 1))


def cost_us(problem: SweepProblem, depth: int) -> float:
    """Predicted microseconds of all sweeps."""
    cut = tiles(problem, depth)
    if not cut:
        return float("inf")
    row_us = ROW_US[problem.stencil.dtype, problem.norms == "every"]
    return LAUNCH_US + problem.sweeps * (SWEEP_US + cut.shape.rows * row_us)


class TileSweeps:
    """The launch of a plan of sweeps.  Making one is collective."""

    def __init__(self, problem: SweepProblem, depth: int, norm: SweepNorm | None):
        context, stencil = problem.context, problem.stencil
        backend = self._backend = context.backend
        blocks = backend.resident_blocks
        from ..on_gpu.tile.tile import resident

        launch = resident(stencil, problem.parts, problem.me, depth, problem.norms, blocks)
        kernel = problem.compiled(launch.kernel, problem.options(launch.bounds, launch.shared_bytes))
        memory, release = context.workspaces.kept_for_plan(
            lambda: make_workspace(backend, context.job, launch.inbox_bytes, 0, 0, 0)
        )
        weakref.finalize(self, release).atexit = False
        peer_offsets = [backend.peers.offsets[pe] or 0 for pe in range(context.job.n_pes)]  # only neighbours' are used
        tables = np.array(launch.tables(memory.inbox, peer_offsets), np.int64)
        self._tables = problem.new_bytes(tables.nbytes)
        backend.heap.copy_in(self._tables.address, tables)
        words = norm.words(0) if norm else 0
        arguments = (*problem.fields(0, 0), self._tables.address, problem.numbers, words, problem.sweeps)
        self._run = kernel.prepare(launch.blocks, arguments, (0, 1), launch.threads)
        self._fields = problem.views[problem.sweeps % 2].address, problem.views[0].address

    def __call__(self, stream: Any) -> None:
        """Enqueue all sweeps."""
        self._backend.streams.order.enqueue(self._run, self._fields, self._backend.streams.handle(stream), stream)
