"""The bricks of a plan of sweeps: how many, how large, and what a sweep of them is predicted to take."""

import math
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from ...kernels.sweep.formula import Stencil
from ..decomposition import Decomposition, Sizes
from .bricks import Storage, axes_of

LANES, VECTOR_BYTES, MOST_THREADS = 32, 16, 1024
MOST_WARPS = 28  # that compute, of a grid of one or two dimensions
SCHEDULERS = 4  # of a multiprocessor: each has every fourth warp
NORM_BYTES = 2048  # of shared memory, for what warps leave of a norm
MOST_CELLS = 1 << 16  # of a brick: elements have 16 bits in the tables of the exchange
DEPTHS = range(1, 9)
CLOCKS_PER_US = 1755  # of an H200 under load
# Clocks, measured on an H200: of an exchange beside its lines, of a line, and of a sweep beside its rows.
EXCHANGE, LINE, SWEEP = 2400, 0.4, 500
# Of 16 bytes of each lane of a warp, in one or two dimensions and in three.  More for a norm: of such a row; of a sweep
# and of a warp in one or two dimensions; of a plane in three, whose barrier waits for the slowest warp.
ROW, ROW_OF_PLANE, ROW_NORM, SWEEP_NORM, WARP_NORM, PLANE_NORM = 15, 34, 9, 1200, 32, 250
FAST_THREADS, SPILLING = 640, 1.7  # of three dimensions: more threads have too few registers, and take so much longer


class Shape(NamedTuple):
    """Bricks of every block of every PE.

    bricks:  of a PE, by axis;  depth: of the rims;  storage: of the cells;  planes: of the storage
    threads: of a block;  chunk: planes that a warp goes down, of a grid of one or two dimensions
    cell_bytes: of the cells in shared memory;  shared_bytes: in all;  clocks: of a sweep, predicted
    """

    bricks: Sizes
    depth: int
    storage: Storage
    threads: int
    chunk: int
    cell_bytes: int
    shared_bytes: int
    clocks: float

    @property
    def blocks(self) -> int:
        """Of a PE."""
        return math.prod(self.bricks)


class Limits(NamedTuple):
    """blocks: of a PE at most;  shared_bytes: of a block at most"""

    blocks: int
    shared_bytes: int


def shape_of(
    parts: Decomposition, stencil: Stencil, norms: str, limits: Limits, bricks: Sizes, depth: int
) -> Shape | None:
    """The shape of so many bricks, or None where they do not fit."""
    n_dims, item_bytes = stencil.n_dims, stencil.item_bytes
    width, every = VECTOR_BYTES // item_bytes, axes_of(parts, bricks, depth, item_bytes)
    own = [axis.most for axis in every]
    cells = [axis.most + 2 * axis.rim for axis in every]
    if min(min(axis.own) for axis in every) < 1:
        return None
    if n_dims == 3:
        row = -(-cells[2] // (2 * width)) * 2 * width  # an even number of pieces
        threads = -(-cells[1] * row // width // LANES) * LANES
        planes, chunk, plane = cells[0], 0, threads * width
        spare_bytes, warps_planes = row * item_bytes + 2 * VECTOR_BYTES, planes * threads // LANES
    else:
        row = plane = LANES * width
        if n_dims == 2 and cells[2] > row:
            return None
        planes = cells[0] if n_dims == 2 else -(-cells[2] // row)
        chunk = min(range(-(-planes // MOST_WARPS), planes + 1), key=lambda n: _rounds(planes, n))
        threads = LANES * -(-planes // chunk)
        spare_bytes, warps_planes = plane * item_bytes, planes
    cell_bytes = planes * plane * item_bytes + spare_bytes
    cell_bytes = -(-cell_bytes // VECTOR_BYTES) * VECTOR_BYTES
    shared_bytes = cell_bytes * (1 + stencil.has_coefficient) + NORM_BYTES * (norms != "none")
    if threads > MOST_THREADS or shared_bytes > limits.shared_bytes or planes * plane > MOST_CELLS:
        return None
    taken = [axis.most + 2 * min(axis.rim, depth) for axis in every]
    lines = (math.prod(taken) - math.prod(own)) * item_bytes / 8
    if n_dims == 3:
        row_clocks, norm_clocks = ROW_OF_PLANE * (SPILLING if threads > FAST_THREADS else 1), planes * PLANE_NORM
    else:
        row_clocks, norm_clocks = ROW, SWEEP_NORM + threads // LANES * WARP_NORM
    clocks = SWEEP + warps_planes * row_clocks + (EXCHANGE + LINE * lines) / depth
    if norms == "every":
        clocks += warps_planes * ROW_NORM + norm_clocks
    return Shape(bricks, depth, Storage(plane, row), threads, chunk, cell_bytes, shared_bytes, clocks)


@lru_cache(64)  # an engine asks for its depth, whether it runs, its cost, and to plan: each time the same
def best_shape(parts: Decomposition, stencil: Stencil, norms: str, limits: Limits, depth: int | None) -> Shape | None:
    """The shape that is predicted to be the fastest, or None where none fits.  depth: None: any"""
    axes = axes_of(parts, (1, 1, 1), 1, stencil.item_bytes)
    deepest = min((min(axis.own) for axis in axes if axis.pes > 1), default=math.inf)
    found = [
        shape
        for deep in ([depth] if depth else DEPTHS)
        if deep <= deepest
        for bricks in _bricks([max(1, min(axis.own) // axis.unit) for axis in axes], limits.blocks)
        if (shape := shape_of(parts, stencil, norms, limits, bricks, deep))
    ]
    return min(found, key=lambda one: one.clocks, default=None)


def _rounds(planes: int, chunk: int) -> float:
    """How long warps take that each go down a chunk of planes: of few warps each waits more for its loads."""
    warps = -(-planes // chunk)
    return chunk * -(-warps // SCHEDULERS) * (1 + 2 / warps)


def _bricks(most: list[int], blocks: int) -> Iterator[Sizes]:
    """Numbers of bricks by axis, at most ``blocks`` in all; along the first axis of several points all that are left."""
    last = next((a for a in range(3) if most[a] > 1), 0)
    others = [a for a in range(3) if a != last]
    for j in range(1, min(most[others[0]], blocks) + 1):
        for k in range(1, min(most[others[1]], blocks // j) + 1):
            at = {others[0]: j, others[1]: k, last: min(most[last], blocks // (j * k))}
            yield at[0], at[1], at[2]
