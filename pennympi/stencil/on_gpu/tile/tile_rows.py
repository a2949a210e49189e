"""What a warp does with its rows of a tile: a sweep, and the way from and to the field."""

from ....compile.unroll import Static, static
from ....kernels.block import real, store
from ....kernels.sweep.formula import apply
from ....kernels.sweep.norm import group_points, half_sum
from ..warp.norm import squares_of_warp
from ..warp.quads import WIDTH, load_global, store_global
from ..warp.warp import of_lane, pick, shift_down, shift_up
from .tile_place import Tiles

LAST = WIDTH - 1


def sweep_rows(tiles: Static[Tiles], way: Static[tuple[bool, bool]], rows, coefficients, place):
    """(new rows, values): one sweep of a warp's rows.

    way:    whether some rows are the rim's, and whether the values of the norm are wanted
    rows:   the warp's, with the one before and the one after them
    values: of a quad's changes in each row, or 0
    """
    new = tuple(
        new_row(tiles, way[0], (rows[r], rows[r + 1], rows[r + 2]), coefficients[r], (place, place.row + r))
        for r in static(tiles.shape.rows)
    )
    values = tuple(
        counted_value(tiles, way[0], (new[r], rows[r + 1]), place, place.row + r) if way[1] else real(0.0)
        for r in static(tiles.shape.rows)
    )
    return new, values


def new_row(tiles: Static[Tiles], mixed: Static[bool], rows, coefficients, place_of_row):
    """The new quad of the middle one of three rows; a row of fixed values stays.  place_of_row: (place, row)"""
    place, j = place_of_row
    tile, depth, quad = place.tile, tiles.shape.depth, rows[1]
    if not mixed or not (((j == depth - 1) & (not tile.north)) | ((j == depth + tile.own) & (not tile.south))):
        quad = swept_quad(tiles, rows, coefficients, place)
    return quad


def swept_quad(tiles: Static[Tiles], rows, coefficients, place):
    """The new quad of the middle one of three rows, where fixed columns stay."""
    north, here, south = rows
    wide = (shift_up(here[LAST]), *here, shift_down(here[0]))
    new = tuple(
        real(
            apply(
                tiles.stencil, here[k], ((), (north[k], south[k]), (wide[k], wide[k + 2])), place.numbers, coefficients[k]
            )
        )
        for k in static(WIDTH)
    )
    return tuple(new_beside_fixed(tiles.shape.edge, k, new[k], here[k], place) for k in static(WIDTH))


def new_beside_fixed(edge: Static[int], k: Static[int], new, here, place):
    """The new number k of a quad, unless it is a fixed one before or after the own columns."""
    if k == LAST:
        new = pick(place.first, here, new)
    if k == edge:
        new = pick(place.last, here, new)
    return new


def counted_value(tiles: Static[Tiles], mixed: Static[bool], rows, place, j):
    """The value of a quad of row j, of rows (new, old); 0 where it does not count."""
    depth, counts = tiles.shape.depth, place.mine
    if mixed:
        counts = place.mine & (j >= depth) & (j < depth + place.tile.own)
    return pick(counts, quad_value(tiles, rows, place), real(0.0))


def quad_value(tiles: Static[Tiles], rows, place):
    """The value of a quad: of a group, or of half a group."""
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

    Two lanes have the halves of a group, the first of them in lane ``side``: of two rows, each lane adds up one.
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
    """The value of one of the groups of two rows, of which this lane and another one have the halves."""
    upper, lower = halves
    is_first, partner = (place.lane & 1) == side & 1, ((place.lane - side) ^ 1) + side
    if has_second:
        return pick(is_first, upper, lower) + of_lane(pick(is_first, lower, upper), partner)
    return pick(is_first, upper + of_lane(upper, partner), real(0.0))


def load_rows(tiles: Static[Tiles], base, pitch, place, zero):
    """The warp's rows of a field with its fixed values; what others own is anything.

    base: address of this lane's quad of the first own row;  pitch: bytes from a row to the next
    """
    return tuple(load_tile_row(tiles, base, pitch, (place, place.row + r), zero) for r in static(tiles.shape.rows))


def load_tile_row(tiles: Static[Tiles], base, pitch, place_of_row, zero):
    """A row of these."""
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
    if (j >= depth) & (j < depth + place.tile.own) & place.mine:
        at, left = base + (j - depth) * pitch, place.tile.width + tiles.rim - place.column
        if tiles.shape.edge and left < WIDTH:
            for k in static(LAST):
                if left > k:
                    store(at, k, quad[k])
        else:
            store_global(at, quad)
