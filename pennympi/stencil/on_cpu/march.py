"""T sweeps of a box in one trip through memory: T levels go along the first dimension, plane after plane.

    level 0 (old)      x x x x x x x o o        Plane x of a level is computed after plane x + 1 of the previous level.
    level 1            x x x x x x o            Of the levels between, 1 to T - 1, three planes are kept.  The box is cut
    level 2 (new)      x x x x x o              into tiles, so that these planes stay in the second-level cache.

Level s of T needs T - s more points than the tile on each side.  A point outside ``live`` has its old value at all
levels.  It is read from ``old``, except for the points at the ends of a row, which are copied to the row of each level.
"""

from functools import cache
from typing import NamedTuple

from ...compile.pass_kernel import PassKernel, PassLaunch
from ...compile.unroll import Static, specialised
from ...kernels.block import load, store
from ...kernels.sweep.formula import Stencil, apply, read_numbers
from ...kernels.sweep.norm import LEVEL_BYTES
from ...kernels.sweep.records import Box, Cut, Pass, SweepFields
from .groups import MOST_POINTS
from .rows import row_accessors
from .squares import add_row_squares

LINE_BYTES = 64
LEAST_ROW_BYTES = 1024  # the least bytes of a tile's row, unless the row of the box is shorter
CACHE_BYTES = 1280 << 10  # bytes of the planes of a tile, which stay in a second-level cache of 2 MiB


class Plane(NamedTuple):
    """A plane of a level.  origin: address of its point (y, z) = (0, 0);  row: elements from a row to the next row"""

    origin: int
    row: int


class Rows(NamedTuple):
    """Addresses of the point z = 0 of rows: of the new row, the old row, its neighbours in x and y, the coefficients."""

    new: int
    old: int
    x: tuple[int, int]
    y: tuple[int, int]
    coefficient: int


class Tile(NamedTuple):
    """A part of a pass.

    box, live: the points of the tile, and the points to which the formula applies
    depth:     number of sweeps;  quiet: number of sweeps without a norm
    between:   place of plane 0 of level 0 as if it were in scratch memory, which has three planes of each level between
    plane:     elements from a plane in scratch memory to the next plane
    """

    box: Box
    live: Box
    depth: int
    quiet: int
    between: Plane
    plane: int


def most_sweeps(stencil: Stencil) -> int:
    """The most sweeps of a pass: more sweeps were not faster."""
    return 8


@cache
def pass_kernel(stencil: Stencil, depth: int, norms: str, end: int, exchanges: bool) -> PassKernel:
    """See ``PassKernel``."""
    del end, exchanges  # only GPU kernels depend on them
    cut = Cut(depth, {"none": depth, "last": depth - 1, "every": 0}[norms])
    before = margin(depth, LINE_BYTES // stencil.item_bytes)
    elems = max(3 * (n - 1) * plane_elems(stencil, n, most_points(stencil, n) + 2 * before) for n in range(1, depth + 1))
    scratch_bytes = elems * stencil.item_bytes
    return PassKernel(specialised(march, stencil), None, 0, scratch_bytes, lambda *_: PassLaunch(1, 1, cut, 1))


def most_points(stencil: Static[Stencil], depth):
    """The most points of a tile's row.

    3 * depth + 1 planes fit into the cache: three planes of each level that is read, and a plane of the new field.  In
    three dimensions it has room for 2 * depth rows of a tile, and for more if they are shorter: long rows are faster.
    """
    rows = (3 * depth + 1) * (2 * depth if stencil.n_dims == 3 else 1)
    return max(CACHE_BYTES // rows, LEAST_ROW_BYTES) // LINE_BYTES * (LINE_BYTES // stencil.item_bytes)


def plane_elems(stencil: Static[Stencil], depth, row):
    """Number of elements of a plane of a tile.  row: number of elements of its rows"""
    if stencil.n_dims < 3:
        return row
    return max(CACHE_BYTES // ((3 * depth + 1) * LINE_BYTES) * (LINE_BYTES // stencil.item_bytes), 4 * depth * row)


def whole_lines(n, line):
    """n, rounded up to a multiple of ``line``."""
    return (n + line - 1) // line * line


def margin(depth, line):
    """Number of elements before and after a tile's points in a row of the levels between."""
    return whole_lines(depth, line) + line


def share(n, most, line):
    """Number of points of each part of n points, at most ``most``: equal parts of whole lines, except the last part."""
    return whole_lines((n + (n + most - 1) // most - 1) // ((n + most - 1) // most), line)


def march(stencil: Static[Stencil], ctx, sweeps: Pass):
    """The kernel, with one machine code for all depths and norms.  Its cut is (sweeps, sweeps without a norm)."""
    fields, box, live, cut, values, words, scratch = sweeps
    depth, quiet = cut.chunk, cut.lead
    item_bytes, line = stencil.item_bytes, LINE_BYTES // stencil.item_bytes
    if stencil.n_dims == 2:  # dimensions y, z become x, z
        fields = SweepFields(fields.new, fields.old, fields.coefficient, fields.row, 0)
        box = Box(box.y0, box.y1, 0, 1, box.z0, box.z1)
        live = Box(live.y0, live.y1, 0, 1, live.z0, live.z1)
    numbers, before = read_numbers(stencil, values), margin(depth, line)
    points, more_rows = share(box.z1 - box.z0, most_points(stencil, depth), line), depth if stencil.n_dims == 3 else 0
    row = points + 2 * before
    plane = plane_elems(stencil, depth, row)
    rows = share(box.y1 - box.y0, plane // row - 2 * more_rows, 1)
    for y in range(box.y0, box.y1, rows):
        for z in range(box.z0, box.z1, points):
            part = Box(box.x0, box.x1, y, min(y + rows, box.y1), z, min(z + points, box.z1))
            between = Plane(scratch - item_bytes * (3 * plane + (y - more_rows) * row + z - before), row)
            sweep_tile(stencil, fields, Tile(part, live, depth, quiet, between, plane), numbers, words)


def sweep_tile(stencil: Static[Stencil], fields: SweepFields, tile: Tile, numbers, words):
    """Compute all levels of a tile."""
    box, live = tile.box, tile.live
    for front in range(box.x0 - tile.depth + 1, box.x1 + tile.depth - 1):
        for s in range(1, tile.depth + 1):
            x, more = front - (s - 1), tile.depth - s
            if max(box.x0 - more, live.x0) <= x < min(box.x1 + more, live.x1):
                sweep_plane(stencil, fields, tile, (s, x), numbers, words)


def sweep_plane(stencil: Static[Stencil], fields: SweepFields, tile: Tile, s_x, numbers, words):
    """Compute plane x of level s, s_x = (s, x), and add its changes to the norm."""
    box, live, (s, x) = tile.box, tile.live, s_x
    line, more = LINE_BYTES // stencil.item_bytes, tile.depth - s
    first, stop = max(box.z0 - more, live.z0), min(box.z1 + more, live.z1)
    start, size = first, stop - first
    if more > 0:  # whole lines: no level reads their additional points, except those that fixed values replace below
        start = box.z0 - whole_lines(box.z0 - first, line)
        size = whole_lines(stop - start, line)
    for y in range(max(box.y0 - more, live.y0), min(box.y1 + more, live.y1)):
        rows = rows_at(stencil.item_bytes, fields, tile, s_x, y)
        summed = s > tile.quiet and box.x0 <= x < box.x1 and box.y0 <= y < box.y1
        at_a_time = MOST_POINTS if summed else size
        for z in range(start, start + size, at_a_time):
            end = min(z + at_a_time, start + size)
            relax(stencil, rows, z, end - z, numbers)
            if summed:
                level = words + (s - tile.quiet - 1) * LEVEL_BYTES
                add_row_squares(stencil.dtype, level, rows.new, rows.old, max(z, box.z0), min(end, box.z1))
        if more > 0 and first == live.z0:
            store(rows.new, first - 1, load(rows.old, first - 1))
        if more > 0 and stop == live.z1:
            store(rows.new, stop, load(rows.old, stop))


def rows_at(item_bytes: Static[int], fields: SweepFields, tile: Tile, s_x, y):
    """Row y of plane x of level s, s_x = (s, x), and the rows from which it is computed."""
    (s, x), live = s_x, tile.live
    new, old = plane_at(item_bytes, fields, tile, s, x), plane_at(item_bytes, fields, tile, s - 1, x)
    fixed = plane_at(item_bytes, fields, tile, 0, x)
    x_minus, x_plus = plane_at(item_bytes, fields, tile, s - 1, x - 1), plane_at(item_bytes, fields, tile, s - 1, x + 1)
    y_minus, y_plus = old if y > live.y0 else fixed, old if y < live.y1 - 1 else fixed
    return Rows(
        row_at(item_bytes, new, y),
        row_at(item_bytes, old, y),
        (row_at(item_bytes, x_minus, y), row_at(item_bytes, x_plus, y)),
        (row_at(item_bytes, y_minus, y - 1), row_at(item_bytes, y_plus, y + 1)),
        row_at(item_bytes, Plane(fields.coefficient + item_bytes * x * fields.plane, fields.row), y),
    )


def plane_at(item_bytes: Static[int], fields: SweepFields, tile: Tile, s, x):
    """Plane x of level s, or of the old field if it is not live."""
    if s == 0 or x < tile.live.x0 or x >= tile.live.x1:
        return Plane(fields.old + item_bytes * x * fields.plane, fields.row)
    if s == tile.depth:
        return Plane(fields.new + item_bytes * x * fields.plane, fields.row)
    return Plane(tile.between.origin + item_bytes * (3 * s + x % 3) * tile.plane, tile.between.row)


def row_at(item_bytes: Static[int], plane: Plane, y):
    """Address of the point z = 0 of a row."""
    return plane.origin + item_bytes * y * plane.row


def relax(stencil: Static[Stencil], rows: Rows, start, size, numbers):
    """Compute ``size`` points of a row.  In two dimensions the first dimension is x in ``rows``, and y for ``apply``."""
    read, write, apart = row_accessors(stencil.dtype)
    apart()
    for z in range(start, start + size):
        along_x = (read(rows.x[0], z), read(rows.x[1], z)) if stencil.n_dims > 1 else ()
        along_y = (read(rows.y[0], z), read(rows.y[1], z)) if stencil.n_dims == 3 else along_x
        u, along_z = read(rows.old, z), (read(rows.old, z - 1), read(rows.old, z + 1))
        coefficient = read(rows.coefficient, z) if stencil.has_coefficient else 0
        write(rows.new, z, apply(stencil, u, (along_x, along_y, along_z), numbers, coefficient))
