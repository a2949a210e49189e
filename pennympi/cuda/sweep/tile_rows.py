"""What a warp does with its rows of a tile: a sweep, and the way from and to the field.

Each is a chain of closures, one a row, since loops over tuples are not unrolled.
"""

from collections.abc import Callable
from functools import cache
from typing import Any

from ...kernels.block import real, store
from ...kernels.sweep.formula import Stencil, applied
from ...kernels.sweep.norm import adder
from .columns import each
from .quads import WIDTH, load_global, store_global
from .tile_place import chain
from .tile_shape import Shape
from .warp import pick, shift_down, shift_up


@cache
def sweep_rows(stencil: Stencil, shape: Shape, mixed: bool, norms: bool) -> Callable[..., Any]:
    """``rows(u, c, north, south, squares, place, tile) -> (new rows, squares)``: one sweep of a warp's rows.

    u, c: the rows and their coefficients;  mixed: some rows are the rim's
    """
    rows, depth, edge = shape.rows, shape.depth, shape.edge
    apply, add, has_coefficient = applied(stencil), adder(WIDTH, stencil.dtype), stencil.has_coefficient
    rim = WIDTH * shape.side

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

    def change(k: int) -> Callable[..., Any]:
        def whole(new, old, place, tile):
            return new[k] - old[k]

        def part(new, old, place, tile):
            inside = place.column + k < rim + tile.width
            return pick(inside, new[k] - old[k], real(0.0))

        return part if edge else whole

    new_quad, changes = each(new, WIDTH), each(change, WIDTH)

    def row(r: int, others: Any) -> Callable[..., Any]:
        def computed(u, c, north, here, south, place):
            below = u[r + 1] if r + 1 < rows else south
            wide = (shift_up(here[WIDTH - 1]),) + here + (shift_down(here[0]),)
            return new_quad(north, here, below, wide, c[r] if has_coefficient else here, place)

        def inner(u, c, north, south, squares, place, tile):
            here = u[r]
            quad = computed(u, c, north, here, south, place)
            if norms:
                squares = add(squares, changes(quad, here, place, tile))
            after, squares = others(u, c, here, south, squares, place, tile)
            return (quad,) + after, squares

        def careful(u, c, north, south, squares, place, tile):
            here, j = u[r], place.row + r
            quad = here
            fixed = ((j == depth - 1) & (not tile.north)) | ((j == depth + tile.own) & (not tile.south))
            if not fixed:
                quad = computed(u, c, north, here, south, place)
            if norms:
                if (j >= depth) & (j < depth + tile.own):
                    squares = add(squares, changes(quad, here, place, tile))
            after, squares = others(u, c, here, south, squares, place, tile)
            return (quad,) + after, squares

        return careful if mixed else inner

    def end(u, c, north, south, squares, place, tile):
        return (), squares

    return chain(row, end, rows)


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
                quad = load_global(base + (j - depth) * pitch, 16, zero)
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
                    store_global(at, 16, u[r])
            return 0

        return row

    return each(load_of, rows), each(store_of, rows)
