"""T sweeps of a box for one trip through memory: T levels march down the first dimension, each one plane after another.

    level 0 (old)      x x x x x x x o o        Plane x of a level is computed when plane x + 1 of the level before it is
    level 1            x x x x x x o            there.  Of the levels between, only three planes are kept.  The box is
    level 2 (new)      x x x x x o              cut into tiles, for these planes to stay in the second-level cache.

Level s of T needs T - s more points than the tile on each side.  A point outside of ``live`` has its old value at all
levels: it is read from ``old``, but for those at the ends of a row, which are copied to it.
"""

from functools import cache
from typing import NamedTuple

from ...compile.pass_kernel import PassKernel
from ...compile.unroll import Static, specialised
from ...kernels.block import load, store
from ...kernels.sweep.formula import Stencil, apply, read_numbers
from ...kernels.sweep.norm import LEVEL_BYTES
from ...kernels.sweep.records import Box, Cut, Pass, SweepFields
from .groups import MOST_POINTS
from .rows import row_accessors
from .squares import add_row_squares

LINE_BYTES = 64
LEAST_ROW_BYTES = 1024  # of a tile's row, unless that of the box is shorter
CACHE_BYTES = 1280 << 10  # of the planes of a tile, which stay in a second-level cache of 2 MiB


class Plane(NamedTuple):
    """A plane of a level.  origin: address of its point (y, z) = (0, 0);  row: elements from a row to the next"""

    origin: int
    row: int


class Rows(NamedTuple):
    """Addresses of the point z = 0 of rows: the new one, the old one, its neighbours in x and y, the coefficients."""

    new: int
    here: int
    x: tuple[int, int]
    y: tuple[int, int]
    coefficient: int


class Tile(NamedTuple):
    """A part of a pass.

    box, live: its points, and those that the formula applies to
    depth:     sweeps;  quiet: how many of them have no norm
    between:   where plane 0 of level 0 would be, if it were kept as the levels between are, three planes each
    plane:     elements from one of these to the next
    """

    box: Box
    live: Box
    depth: int
    quiet: int
    between: Plane
    plane: int


def most_sweeps(stencil: Stencil) -> int:
    """Sweeps of a pass at most: more have gained nothing."""
    return 8


@cache
def pass_kernel(stencil: Stencil, depth: int, norms: str, end: int) -> PassKernel:
    """See ``PassKernel``."""
    del end  # only GPU kernels depend on it
    cut = Cut(depth, {"none": depth, "last": depth - 1, "every": 0}[norms])
    before = margin(depth, LINE_BYTES // stencil.item_bytes)
    elems = max(3 * (n - 1) * plane_elems(stencil, n, most_points(stencil, n) + 2 * before) for n in range(1, depth + 1))
    scratch_bytes = elems * stencil.item_bytes
    return PassKernel(specialised(march, stencil), None, 0, scratch_bytes, lambda box, storage: (1, 1, cut))


def most_points(stencil: Static[Stencil], depth):
    """Points of a tile's row.

    3 * depth + 1 planes fit into the cache: three of each level that is read, and one of the new field.  In three
    dimensions these have 2 * depth rows at least, and more of rows that are shorter: longer rows are read faster.
    """
    rows = (3 * depth + 1) * (2 * depth if stencil.n_dims == 3 else 1)
    return max(CACHE_BYTES // rows, LEAST_ROW_BYTES) // LINE_BYTES * (LINE_BYTES // stencil.item_bytes)


def plane_elems(stencil: Static[Stencil], depth, row):
    """Elements of a plane of a tile, whose rows have ``row`` elements."""
    if stencil.n_dims < 3:
        return row
    return max(CACHE_BYTES // ((3 * depth + 1) * LINE_BYTES) * (LINE_BYTES // stencil.item_bytes), 4 * depth * row)


def whole_lines(n, line):
    """n, rounded up to a multiple of ``line``."""
    return (n + line - 1) // line * line


def margin(depth, line):
    """Elements before and after a tile's points in a row of the levels between, read a point beyond whole lines, too."""
    return whole_lines(depth, line) + line


def share(n, most, line):
    """How many of n points each part has, at most ``most``: equal parts, of whole lines but for the last."""
    return whole_lines((n + (n + most - 1) // most - 1) // ((n + most - 1) // most), line)


def march(stencil: Static[Stencil], ctx, sweeps: Pass):
    """The kernel: one machine code for all depths and norms.  Its cut is (sweeps, how many of them have no norm)."""
    fields, box, live, (depth, quiet), values, words, scratch = sweeps
    item_bytes, line = stencil.item_bytes, LINE_BYTES // stencil.item_bytes
    if stencil.n_dims == 2:  # the first dimension is x here
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
    """All levels of a tile."""
    box, live = tile.box, tile.live
    for front in range(box.x0 - tile.depth + 1, box.x1 + tile.depth - 1):
        for s in range(1, tile.depth + 1):
            x, more = front - (s - 1), tile.depth - s
            if max(box.x0 - more, live.x0) <= x < min(box.x1 + more, live.x1):
                sweep_plane(stencil, fields, tile, (s, x), numbers, words)


def sweep_plane(stencil: Static[Stencil], fields: SweepFields, tile: Tile, at, numbers, words):
    """Plane x of level s, at = (s, x), and its part of the norm."""
    box, live, (s, x) = tile.box, tile.live, at
    line, more = LINE_BYTES // stencil.item_bytes, tile.depth - s
    first, stop = max(box.z0 - more, live.z0), min(box.z1 + more, live.z1)
    start, size = first, stop - first
    if more > 0:  # whole lines: what is too much is not read, but for the fixed values, which are put in its place
        start = box.z0 - whole_lines(box.z0 - first, line)
        size = whole_lines(stop - start, line)
    for y in range(max(box.y0 - more, live.y0), min(box.y1 + more, live.y1)):
        rows = rows_at(stencil.item_bytes, fields, tile, at, y)
        summed = s > tile.quiet and box.x0 <= x < box.x1 and box.y0 <= y < box.y1
        at_a_time = MOST_POINTS if summed else size
        for z in range(start, start + size, at_a_time):
            end = min(z + at_a_time, start + size)
            relax(stencil, rows, z, end - z, numbers)
            if summed:
                level = words + (s - tile.quiet - 1) * LEVEL_BYTES
                add_row_squares(stencil.dtype, level, rows.new, rows.here, max(z, box.z0), min(end, box.z1))
        if more > 0 and first == live.z0:
            store(rows.new, first - 1, load(rows.here, first - 1))
        if more > 0 and stop == live.z1:
            store(rows.new, stop, load(rows.here, stop))


def rows_at(item_bytes: Static[int], fields: SweepFields, tile: Tile, at, y):
    """The rows that a row of plane x of level s, at = (s, x), is computed from."""
    (s, x), live = at, tile.live
    new, here = plane_at(item_bytes, fields, tile, s, x), plane_at(item_bytes, fields, tile, s - 1, x)
    fixed = plane_at(item_bytes, fields, tile, 0, x)
    before, after = plane_at(item_bytes, fields, tile, s - 1, x - 1), plane_at(item_bytes, fields, tile, s - 1, x + 1)
    below, above = here if y > live.y0 else fixed, here if y < live.y1 - 1 else fixed
    return Rows(
        row_at(item_bytes, new, y),
        row_at(item_bytes, here, y),
        (row_at(item_bytes, before, y), row_at(item_bytes, after, y)),
        (row_at(item_bytes, below, y - 1), row_at(item_bytes, above, y + 1)),
        row_at(item_bytes, Plane(fields.coefficient + item_bytes * x * fields.plane, fields.row), y),
    )


def plane_at(item_bytes: Static[int], fields: SweepFields, tile: Tile, s, x):
    """Plane x of level s."""
    if s == 0 or x < tile.live.x0 or x >= tile.live.x1:
        return Plane(fields.old + item_bytes * x * fields.plane, fields.row)
    if s == tile.depth:
        return Plane(fields.new + item_bytes * x * fields.plane, fields.row)
    return Plane(tile.between.origin + item_bytes * (3 * s + x % 3) * tile.plane, tile.between.row)


def row_at(item_bytes: Static[int], plane: Plane, y):
    """Address of the point z = 0 of a row."""
    return plane.origin + item_bytes * y * plane.row


def relax(stencil: Static[Stencil], rows: Rows, start, size, numbers):
    """Some points of a row.  The first of two dimensions is x here, and y of the formula."""
    read, write, apart = row_accessors(stencil.dtype)
    apart()
    for z in range(start, start + size):
        along_x = (read(rows.x[0], z), read(rows.x[1], z)) if stencil.n_dims > 1 else ()
        along_y = (read(rows.y[0], z), read(rows.y[1], z)) if stencil.n_dims == 3 else along_x
        here, ends = read(rows.here, z), (read(rows.here, z - 1), read(rows.here, z + 1))
        coefficient = read(rows.coefficient, z) if stencil.has_coefficient else 0
        write(rows.new, z, apply(stencil, here, (along_x, along_y, ends), numbers, coefficient))
