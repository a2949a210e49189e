"""What a warp does with its rows of a tile: a sweep, and the way from and to the field.

Each is a chain of closures, one a row, since loops over tuples are not unrolled.
"""

from collections.abc import Callable
from functools import cache
from typing import Any

from ...kernels.block import real, store
from ...kernels.sweep.formula import Stencil, applied
from ...kernels.sweep.norm import group_points, half_sum
from .columns import each
from .norm import squares_of_warp
from .quads import WIDTH, load_global, store_global
from .tile_place import chain
from .tile_shape import Shape
from .warp import of_lane, pick, shift_down, shift_up


@cache
def sweep_rows(stencil: Stencil, shape: Shape, mixed: bool, norms: bool) -> Callable[..., Any]:
    """``rows(u, c, north, south, place, tile) -> (new rows, values)``: one sweep of a warp's rows.

    u, c: the rows and their coefficients;  mixed: some rows are the rim's;  values: of a quad's changes in each row, or 0
    """
    rows, depth, edge = shape.rows, shape.depth, shape.edge
    apply, has_coefficient = applied(stencil), stencil.has_coefficient
    value_of = _value_of_quad(stencil, shape)

    def new(k: int) -> Callable[..., Any]:
        def plain(north, here, south, wide, c, place):
            return real(apply(here[k], (), (north[k], south[k]), (wide[k], wide[k + 2]), (place.numbers, c[k])))

        def first(north, here, south, wide, c, place):
            return pick(place.first, here[k], plain(north, here, south, wide, c, place))

        def last(north, here, south, wide, c, place):
            return pick(place.last, here[k], plain(north, here, south, wide, c, place))

        def either(north, here, south, wide, c, place):
            return pick(place.first | place.last, here[k], plain(north, here, south, wide, c, place))

        if k == WIDTH - 1:
            return either if edge == k else first
        return last if edge == k else plain

    new_quad = each(new, WIDTH)

    def row(r: int, others: Any) -> Callable[..., Any]:
        def computed(u, c, north, south, place):
            here, below = u[r], u[r + 1] if r + 1 < rows else south
            wide = (shift_up(here[WIDTH - 1]),) + here + (shift_down(here[0]),)
            return new_quad(north, here, below, wide, c[r] if has_coefficient else here, place)

        def new_row(u, c, north, south, place, tile):
            return computed(u, c, north, south, place)

        def new_or_fixed_row(u, c, north, south, place, tile):
            j, quad = place.row + r, u[r]
            if not (((j == depth - 1) & (not tile.north)) | ((j == depth + tile.own) & (not tile.south))):
                quad = computed(u, c, north, south, place)
            return quad

        def counted(place, tile):
            """Whether the row's changes count in this lane."""
            if mixed:
                return place.mine & (place.row + r >= depth) & (place.row + r < depth + tile.own)
            return place.mine

        one_row = new_or_fixed_row if mixed else new_row

        def plain(u, c, north, south, place, tile):
            quad = one_row(u, c, north, south, place, tile)
            after, values = others(u, c, u[r], south, place, tile)
            return (quad,) + after, (real(0.0),) + values

        def counting(u, c, north, south, place, tile):
            quad = one_row(u, c, north, south, place, tile)
            value = pick(counted(place, tile), value_of(quad, u[r], place, tile), real(0.0))
            after, values = others(u, c, u[r], south, place, tile)
            return (quad,) + after, (value,) + values

        return counting if norms else plain

    def end(u, c, north, south, place, tile):
        return (), ()

    return chain(row, end, rows)


def _value_of_quad(stencil: Stencil, shape: Shape) -> Callable[..., Any]:
    """``value(new, old, place, tile)`` of a quad: of a group, or of half a group."""
    edge, rim = shape.edge, WIDTH * shape.side

    def change(k: int) -> Callable[..., Any]:
        def whole(new, old, place, tile):
            return new[k] - old[k]

        def cut(new, old, place, tile):
            return pick(place.column + k < rim + tile.width, new[k] - old[k], real(0.0))

        return cut if 0 < edge <= k else whole

    changes, of_half, of_two = each(change, WIDTH), half_sum(WIDTH), half_sum(WIDTH // 2)

    def half(new, old, place, tile):
        return of_half(changes(new, old, place, tile))

    def group(new, old, place, tile):
        a, b, c, d = changes(new, old, place, tile)
        return of_two((a, b)) + of_two((c, d))

    return group if group_points(stencil.item_bytes) == WIDTH else half


@cache
def squares_of_rows(stencil: Stencil, shape: Shape) -> Callable[..., Any]:
    """``squares(values, place)``: of the values of ``sweep_rows``.

    Two lanes have the halves of a group, the first of them in lane ``side``: of two rows, each lane adds up one.
    """
    rows, side = shape.rows, shape.side
    pairs = -(-rows // 2)

    def other_half(half, place):
        return of_lane(half, ((place.lane - side) ^ 1) + side)

    def pair(p: int) -> Callable[..., Any]:
        def both(halves, place):
            first = (place.lane & 1) == side & 1
            kept, given = halves[2 * p], halves[2 * p + 1]
            return pick(first, kept, given) + other_half(pick(first, given, kept), place)

        def only(halves, place):
            value = halves[2 * p] + other_half(halves[2 * p], place)
            return pick((place.lane & 1) == side & 1, value, real(0.0))

        return both if 2 * p + 1 < rows else only

    values_of, of_pairs, of_groups = each(pair, pairs), squares_of_warp(pairs), squares_of_warp(rows)

    def from_halves(values, place):
        return of_pairs(values_of(values, place))

    def from_groups(values, place):
        return of_groups(values)

    return from_groups if group_points(stencil.item_bytes) == WIDTH else from_halves


@cache
def movers(stencil: Stencil, shape: Shape) -> tuple[Any, Any]:
    """(``load``, ``store``) of a warp's rows.

    load(base, pitch, tile, place, zero): the rows of a field with its fixed values; what others own is anything
    store(u, base, pitch, tile, place): the own points to a field;  base: address of this lane's quad of the first own row
    """
    rows, depth, edge, rim = shape.rows, shape.depth, shape.edge, WIDTH * shape.side

    def load_of(r: int) -> Callable[..., Any]:
        def row(base, pitch, tile, place, zero):
            quad = (zero, zero, zero, zero)
            j = place.row + r
            if (j >= depth - 1) & (j <= depth + tile.own) & (place.column < tile.width + 2 * rim):
                quad = load_global(base + (j - depth) * pitch, zero)
            return quad

        return row

    def store_of(r: int) -> Callable[..., Any]:
        def row(u, base, pitch, tile, place):
            j = place.row + r
            if (j >= depth) & (j < depth + tile.own) & place.mine:
                at = base + (j - depth) * pitch
                left = tile.width + rim - place.column
                if edge and left < WIDTH:
                    store(at, 0, u[r][0])
                    if left > 1:
                        store(at, 1, u[r][1])
                    if left > 2:
                        store(at, 2, u[r][2])
                else:
                    store_global(at, u[r])
            return 0

        return row

    return each(load_of, rows), each(store_of, rows)
