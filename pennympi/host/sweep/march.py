"""T sweeps of a box for one trip through memory: T levels march down the first dimension, one plane behind another.

    level 0 (old)      x x x x x x x o o        Plane x of a level is computed when plane x + 1 of the level before it is
    level 1            x x x x x x o            there.  Of the levels between, only three planes are kept.  The box is
    level 2 (new)      x x x x x o              cut into tiles, for these planes to stay in the second-level cache.

Level s of T needs T - s more points than the tile on each side.  A point outside of ``live`` has its old value at all
levels: it is read from ``old``, but for those at the ends of a row, which are copied to it.
"""

from collections.abc import Callable
from functools import cache
from typing import NamedTuple

from ...compile.pass_kernel import PassKernel
from ...kernels.block import load, store
from ...kernels.in_kernel.exact import WORDS_BYTES, add_to_bins, add_to_words, no_bins
from ...kernels.sweep.formula import Stencil, applied, numbers_of
from ...kernels.sweep.records import Box, Cut, SweepFields

LINE_BYTES = 64
LEVEL_BYTES = 8 * WORDS_BYTES  # from the norm of a level to the next: COPIES of its words
TILE_ROWS, TILE_POINTS = {1: 1, 2: 1, 3: 32}, {1: 4096, 2: 4096, 3: 512}  # of a tile's plane at most, by dimensions


class Rows(NamedTuple):
    """Addresses of the point z = 0 of rows: the new one, the old one, its neighbours in x and y, the coefficients."""

    new: int
    here: int
    x: tuple[int, int]
    y: tuple[int, int]
    coefficient: int


class Planes(NamedTuple):
    """Where the levels between lie, three planes each.

    origin:     address of point (0, 0, 0) of the first plane of level 0, of which there is none
    plane, row: elements from a plane to the next one, and from a row to the next one
    """

    origin: int
    plane: int
    row: int


class Tile(NamedTuple):
    """A part of a pass.

    box, live: its points, and those that the formula applies to
    depth:     sweeps;  quiet: how many of them have no norm
    """

    box: Box
    live: Box
    depth: int
    quiet: int
    planes: Planes


def why_not(stencil: Stencil, depth: int) -> str:
    """Why there is no such pass; "": there is."""
    return ""


@cache
def pass_kernel(stencil: Stencil, depth: int, norms: str) -> PassKernel:
    """See ``PassKernel``."""
    cut = Cut(depth, {"none": depth, "last": depth - 1, "every": 0}[norms])
    row = TILE_POINTS[stencil.n_dims] + 2 * margin(stencil, depth)
    plane_bytes = (TILE_ROWS[stencil.n_dims] + 2 * depth) * row * stencil.item_bytes
    return PassKernel(march_of(stencil), None, 0, 3 * (depth - 1) * plane_bytes, lambda box, storage: (1, 1, cut))


def margin(stencil: Stencil, depth: int) -> int:
    """Elements before and after the points of a tile in a row of a level between: whole lines."""
    line = LINE_BYTES // stencil.item_bytes
    return -(-depth // line) * line


@cache
def march_of(stencil: Stencil) -> Callable[..., None]:
    """The kernel, one machine code for all depths and norms.  Its cut: sweeps, and how many of them have no norm."""
    item_bytes, n_dims = stencil.item_bytes, stencil.n_dims
    tile_rows, tile_points, line = TILE_ROWS[n_dims], TILE_POINTS[n_dims], LINE_BYTES // item_bytes
    relax, numbers_at = relax_of(stencil), numbers_of(stencil)

    def march(ctx, fields: SweepFields, box: Box, live: Box, cut: Cut, values, words, scratch):
        """new[box] = cut.chunk sweeps of old."""
        if n_dims == 2:  # the first dimension is x here
            fields = SweepFields(fields.new, fields.old, fields.coefficient, fields.row, 0)
            box = Box(box.y0, box.y1, 0, 1, box.z0, box.z1)
            live = Box(live.y0, live.y1, 0, 1, live.z0, live.z1)
        depth, quiet = cut
        numbers = numbers_at(values)
        before = (depth + line - 1) // line * line
        row = tile_points + 2 * before
        plane = (tile_rows + 2 * depth) * row
        rows = share(box.y1 - box.y0, tile_rows, 1)
        points = share(box.z1 - box.z0, tile_points, line)
        for y in range(box.y0, box.y1, rows):
            for z in range(box.z0, box.z1, points):
                origin = scratch - item_bytes * (3 * plane + (y - depth) * row + z - before)
                part = Box(box.x0, box.x1, y, min(y + rows, box.y1), z, min(z + points, box.z1))
                sweep_tile(fields, Tile(part, live, depth, quiet, Planes(origin, plane, row)), numbers, words)

    def sweep_tile(fields: SweepFields, tile: Tile, numbers, words):
        """All levels of a tile."""
        box, live = tile.box, tile.live
        for front in range(box.x0 - tile.depth + 1, box.x1 + tile.depth - 1):
            for s in range(1, tile.depth + 1):
                x, more = front - (s - 1), tile.depth - s
                if max(box.x0 - more, live.x0) <= x < min(box.x1 + more, live.x1):
                    for y in range(max(box.y0 - more, live.y0), min(box.y1 + more, live.y1)):
                        sweep_row(fields, tile, (s, x, y), numbers, words)

    def sweep_row(fields: SweepFields, tile: Tile, at, numbers, words):
        """Row (x, y) of level s, and its part of the norm."""
        box, live, (s, x, y) = tile.box, tile.live, at
        more = tile.depth - s
        rows = Rows(
            row_at(fields, tile, s, x, y),
            row_at(fields, tile, s - 1, x, y),
            (row_at(fields, tile, s - 1, x - 1, y), row_at(fields, tile, s - 1, x + 1, y)),
            (row_at(fields, tile, s - 1, x, y - 1), row_at(fields, tile, s - 1, x, y + 1)),
            fields.coefficient + item_bytes * (x * fields.plane + y * fields.row),
        )
        first, stop = max(box.z0 - more, live.z0), min(box.z1 + more, live.z1)
        relax(rows, first, stop, numbers)
        if more > 0 and first == live.z0:
            store(rows.new, first - 1, load(rows.here, first - 1))
        if more > 0 and stop == live.z1:
            store(rows.new, stop, load(rows.here, stop))
        if s > tile.quiet and box.x0 <= x < box.x1 and box.y0 <= y < box.y1:
            add_changes(words + (s - tile.quiet - 1) * LEVEL_BYTES, rows, box.z0, box.z1)

    def row_at(fields: SweepFields, tile: Tile, s, x, y):
        """Address of point z = 0 of row (x, y) at level s."""
        live, planes = tile.live, tile.planes
        offset = item_bytes * (x * fields.plane + y * fields.row)
        if s == 0 or x < live.x0 or x >= live.x1 or y < live.y0 or y >= live.y1:
            return fields.old + offset
        if s == tile.depth:
            return fields.new + offset
        return planes.origin + item_bytes * ((3 * s + x % 3) * planes.plane + y * planes.row)

    return march


def share(n, most, line):
    """The sizes of equal parts of n, each at most ``most`` and, but for the last, a multiple of ``line``."""
    parts = (n + most - 1) // most
    return (n + parts * line - 1) // (parts * line) * line


def add_changes(words, rows: Rows, first, stop):
    """Add the squared changes of some points of a row to the words."""
    bins = no_bins()
    for z in range(first, stop):
        change = 1.0 * (load(rows.new, z) - load(rows.here, z))
        bins = add_to_bins(bins, change * change)
    add_to_words(words, bins)


def relax_of(stencil: Stencil) -> Callable[..., None]:
    """``relax(rows, first, stop, numbers)``: some points of a row."""
    apply = applied(stencil)

    def along_x(rows: Rows, z):
        return load(rows.x[0], z), load(rows.x[1], z)

    def along_y(rows: Rows, z):
        return load(rows.y[0], z), load(rows.y[1], z)

    def coefficient_at(rows: Rows, z):
        return load(rows.coefficient, z)

    def nothing(rows: Rows, z):
        return 0

    # The first of two dimensions is x here, and y of the formula.
    x, y = {1: (nothing, nothing), 2: (nothing, along_x), 3: (along_x, along_y)}[stencil.n_dims]
    coefficient = coefficient_at if stencil.has_coefficient else nothing

    def relax(rows: Rows, first, stop, numbers):
        for z in range(first, stop):
            here, ends = load(rows.here, z), (load(rows.here, z - 1), load(rows.here, z + 1))
            store(rows.new, z, apply(here, x(rows, z), y(rows, z), ends, (numbers, coefficient(rows, z))))

    return relax
