"""The work of a warp on its rows of a tile: a sweep, loads from the field, and stores to the field."""

from ....compile.unroll import Static, static
from ....kernels.block import real, store
from ....kernels.sweep.formula import apply
from ....kernels.sweep.norm import group_points, half_sum
from ..warp.norm import squares_of_warp
from ..warp.quads import WIDTH, load_global, store_global
from ..warp.warp import of_lane, pick, shift_down, shift_up
from .tile_place import Tiles

LAST = WIDTH - 1


def sweep_rows(tiles: Static[Tiles], kind: Static[tuple[bool, bool]], rows, coefficients, place):
    """(new rows, values): one sweep of a warp's rows.

    kind:   (True if some rows belong to the rim, True if the sweep has a norm)
    rows:   the warp's rows, with the row above and the row below them
    values: for each row the value of the quad's changes, or 0
    """
    new = tuple(
        new_row(tiles, kind[0], (rows[r], rows[r + 1], rows[r + 2]), coefficients[r], (place, place.row + r))
        for r in static(tiles.shape.rows)
    )
    values = tuple(
        counted_value(tiles, kind[0], (new[r], rows[r + 1]), place, place.row + r) if kind[1] else real(0.0)
        for r in static(tiles.shape.rows)
    )
    return new, values


def new_row(tiles: Static[Tiles], mixed: Static[bool], rows, coefficients, place_of_row):
    """The new quad of the middle row of three rows; a row of fixed values stays.  place_of_row: (place, its index)"""
    place, j = place_of_row
    tile, depth, quad = place.tile, tiles.shape.depth, rows[1]
    if not mixed or not (((j == depth - 1) & (not tile.above)) | ((j == depth + tile.own) & (not tile.below))):
        quad = swept_quad(tiles, rows, coefficients, place)
    return quad


def swept_quad(tiles: Static[Tiles], rows, coefficients, place):
    """The new quad of the middle row of three rows; fixed columns stay."""
    above, u, below = rows
    wide = (shift_up(u[LAST]), *u, shift_down(u[0]))
    new = tuple(
        real(
            apply(tiles.stencil, u[k], ((), (above[k], below[k]), (wide[k], wide[k + 2])), place.numbers, coefficients[k])
        )
        for k in static(WIDTH)
    )
    return tuple(new_beside_wall(tiles.shape.edge, k, new[k], u[k], place) for k in static(WIDTH))


def new_beside_wall(edge: Static[int], k: Static[int], new, old, place):
    """The new number k of a quad, or the old number of a fixed column."""
    if k == LAST:
        new = pick(place.has_wall_before, old, new)
    if k == edge:
        new = pick(place.has_wall_after, old, new)
    return new


def counted_value(tiles: Static[Tiles], mixed: Static[bool], rows, place, j):
    """The value of a quad of row j, of rows (new, old); 0 if it does not count."""
    depth, counts = tiles.shape.depth, place.is_own
    if mixed:
        counts = place.is_own & (j >= depth) & (j < depth + place.tile.own)
    return pick(counts, quad_value(tiles, rows, place), real(0.0))


def quad_value(tiles: Static[Tiles], rows, place):
    """The value of a quad, which is a group or half a group."""
    (new, old), end = rows, tiles.rim + place.tile.width
    changes = tuple(
        pick(place.column + k < end, new[k] - old[k], real(0.0)) if 0 < tiles.shape.edge <= k else new[k] - old[k]
        for k in static(WIDTH)
    )
    if group_points(tiles.stencil.item_bytes) == WIDTH:
        return half_sum(2, (changes[0], changes[1])) + half_sum(2, (changes[2], changes[3]))
    return half_sum(WIDTH, changes)


def squares_of_rows(tiles: Static[Tiles], values, place):
    """The squares of the values of ``sweep_rows``.

    In float64 two lanes have the halves of a group; the first group begins in lane ``side``.  Each of the two lanes adds
    up the group of one of two rows.
    """
    rows, pairs = tiles.shape.rows, (tiles.shape.rows + 1) // 2
    if group_points(tiles.stencil.item_bytes) == WIDTH:
        return squares_of_warp(rows, values)
    padded = (*values, real(0.0))
    groups = tuple(
        group_of_rows(tiles.shape.side, (padded[2 * p], padded[2 * p + 1]), place, 2 * p + 1 < rows)
        for p in static(pairs)
    )
    return squares_of_warp(pairs, groups)


def group_of_rows(side: Static[int], halves, place, has_second: Static[bool]):
    """The value of the group of the upper or the lower row.  This lane has half of each group, its partner the rest."""
    upper, lower = halves
    is_first, partner = (place.lane & 1) == side & 1, ((place.lane - side) ^ 1) + side
    if has_second:
        return pick(is_first, upper, lower) + of_lane(pick(is_first, lower, upper), partner)
    return pick(is_first, upper + of_lane(upper, partner), real(0.0))


def load_rows(tiles: Static[Tiles], base, pitch, place, zero):
    """The warp's rows of a field with its fixed values.  Points of other tiles get any values.

    base: address of this lane's quad of the first own row;  pitch: bytes from a row to the next row
    """
    return tuple(load_tile_row(tiles, base, pitch, (place, place.row + r), zero) for r in static(tiles.shape.rows))


def load_tile_row(tiles: Static[Tiles], base, pitch, place_of_row, zero):
    """A row of ``load_rows``."""
    (place, j), depth = place_of_row, tiles.shape.depth
    quad = (zero, zero, zero, zero)
    if (j >= depth - 1) & (j <= depth + place.tile.own) & (place.column < place.tile.width + 2 * tiles.rim):
        quad = load_global(base + (j - depth) * pitch, zero)
    return quad


def store_rows(tiles: Static[Tiles], u, base, pitch, place):
    """Store the own points of the warp's rows."""
    for r in static(tiles.shape.rows):
        store_tile_row(tiles, u[r], base, pitch, (place, place.row + r))


def store_tile_row(tiles: Static[Tiles], quad, base, pitch, place_of_row):
    """Store the own points of row j."""
    (place, j), depth = place_of_row, tiles.shape.depth
    if (j >= depth) & (j < depth + place.tile.own) & place.is_own:
        to, n_columns = base + (j - depth) * pitch, place.tile.width + tiles.rim - place.column
        if tiles.shape.edge and n_columns < WIDTH:
            for k in static(LAST):
                if n_columns > k:
                    store(to, k, quad[k])
        else:
            store_global(to, quad)
