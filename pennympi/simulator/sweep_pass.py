"""A pass of a sweep in the simulator: a single sweep, in which each warp takes a row at a time."""

from functools import cache
from typing import Any

import numpy as np
from greenlet import getcurrent

from ..compile.pass_kernel import PassKernel, PassLaunch, Storage
from ..kernels.block import block, lanes, load, real
from ..kernels.sweep.formula import Stencil, apply, read_numbers
from ..kernels.sweep.norm import add_group, add_squares_to_words, group_points, half_sum, no_squares
from ..kernels.sweep.records import Box, Cut, Pass, SweepFields
from .shadow import READ, WRITE

BLOCKS = 3


def most_sweeps(stencil: Stencil) -> int:
    """Most sweeps of a pass."""
    return 1


@cache
def pass_kernel(stencil: Stencil, depth: int, norms: str, end: int, exchanges: bool) -> PassKernel:
    """See ``PassKernel``."""

    def sweep(ctx: int, sweeps: Pass) -> None:
        fields, box, _, cut, values, words, _ = sweeps
        numbers, rows, n_rows = read_numbers(stencil, values), box.y1 - box.y0, n_rows_of(box)
        bounds = (0, cut.chunk), (max(cut.chunk, n_rows - cut.chunk), n_rows), (cut.chunk, n_rows - cut.chunk)
        for k in lanes(*bounds[block()]):
            xy = box.x0 + k // rows, box.y0 + k % rows
            sweep_row(stencil, fields, xy, (box.z0, box.z1), numbers)
            if norms != "none":
                add_row(stencil, fields, xy, (box.z0, box.z1), words)

    def launch(box: Box, sides: Box, storage: Storage) -> PassLaunch:
        """Blocks of the rows at either end of the first dimension, and a block of the rows between them."""
        first = min(n_rows_of(box), box.y1 - box.y0 if stencil.n_dims == 3 else 1)
        beside = sides[2:] if stencil.n_dims == 3 else sides[4:]
        return PassLaunch(BLOCKS, 1, Cut(first, 0), BLOCKS if any(beside) else BLOCKS - 1)

    del depth, end, exchanges
    return PassKernel(sweep, None, 0, 0, launch)


def n_rows_of(box: Box) -> int:
    """Number of rows of a box."""
    return (box.x1 - box.x0) * (box.y1 - box.y0)


def address(stencil: Stencil, fields: SweepFields, base: int, x: int, y: int, z: int) -> int:
    """Address of a point of the field at ``base``."""
    if stencil.n_dims < 3:
        x = 0
    if stencil.n_dims < 2:
        y = 0
    return base + stencil.item_bytes * (x * fields.plane + y * fields.row + z)


def sweep_row(stencil: Stencil, fields: SweepFields, xy: tuple[int, int], bounds: tuple[int, int], numbers: Any) -> None:
    """Compute the new values of the points of a row."""
    warp: Any = getcurrent()
    (x, y), (first, stop) = xy, bounds

    def row(base: int, dx: int, dy: int, dz: int, kind: int = READ) -> Any:
        start = address(stencil, fields, base, x + dx, y + dy, first + dz)
        return warp.memory.elements(warp.pe, start, stop - first, warp.item, warp, kind)

    old = fields.old
    along_x = (row(old, -1, 0, 0), row(old, 1, 0, 0)) if stencil.n_dims == 3 else (0, 0)
    along_y = (row(old, 0, -1, 0), row(old, 0, 1, 0)) if stencil.n_dims >= 2 else (0, 0)
    neighbours = along_x, along_y, (row(old, 0, 0, -1), row(old, 0, 0, 1))
    coefficient = row(fields.coefficient, 0, 0, 0) if stencil.has_coefficient else 0
    centre = row(old, 0, 0, 0)
    try:
        new = apply(stencil, centre, neighbours, numbers, coefficient)
    except ValueError:  # the formula has conditions
        new = _point_by_point(stencil, centre, neighbours, numbers, coefficient)
    row(fields.new, 0, 0, 0, WRITE)[:] = new
    warp.pause()


def _point_by_point(stencil: Stencil, centre: Any, neighbours: Any, numbers: Any, coefficient: Any) -> list[Any]:
    def point(rows: Any, k: int) -> Any:
        return tuple(values[k] if isinstance(values, np.ndarray) else values for values in rows)

    return [
        apply(stencil, centre[k], tuple(point(pair, k) for pair in neighbours), numbers, point((coefficient,), k)[0])
        for k in range(len(centre))
    ]


def add_row(stencil: Stencil, fields: SweepFields, xy: tuple[int, int], bounds: tuple[int, int], words: int) -> None:
    """Add the changes of the points of a row to the words of the norm."""
    (x, y), (first, stop), squares = xy, bounds, no_squares()
    new, old = (address(stencil, fields, base, x, y, 0) for base in (fields.new, fields.old))
    n = group_points(stencil.item_bytes) // 2

    def half(start: int) -> Any:
        return half_sum(n, [load(new, z) - load(old, z) if z < stop else real(0) for z in range(start, start + n)])

    for z in range(first, stop, 2 * n):
        squares = add_group(squares, half(z) + half(z + n))
    add_squares_to_words(words, squares)
