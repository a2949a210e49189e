"""What a warp does with its rows of a tile: a sweep, and the way from and to the field.

Each is a chain of closures, one a row, since loops over tuples are not unrolled.
"""

from collections.abc import Callable
from functools import cache
from typing import Any

from ...kernels.block import real, store
from ...kernels.sweep.formula import Stencil, applied
from .columns import each
from .norm import warp_adder
from .quads import WIDTH, load_global, store_global
from .tile_place import chain
from .tile_shape import Shape
from .warp import pick, shift_down, shift_up

PAIRED_ROWS = 3  # of a warp at most, for two rows to look together for their window: more have no registers left for it


@cache
def sweep_rows(stencil: Stencil, shape: Shape, mixed: bool, norms: bool) -> Callable[..., Any]:
    """``rows(u, c, north, south, squares, place, tile) -> (new rows, squares)``: one sweep of a warp's rows.

    u, c: the rows and their coefficients;  mixed: some rows are the rim's
    """
    rows, depth, edge = shape.rows, shape.depth, shape.edge
    apply, has_coefficient, rim = applied(stencil), stencil.has_coefficient, WIDTH * shape.side
    together = 2 if rows <= PAIRED_ROWS and stencil.dtype == "float32" else 1

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
        def column(new, old, counts, place, tile):
            if edge:
                counts &= place.column + k < rim + tile.width
            return pick(counts, new[k] - old[k], real(0.0))

        return column

    new_quad, changes = each(new, WIDTH), each(change, WIDTH)

    def row(r: int, others: Any) -> Callable[..., Any]:
        add = warp_adder(WIDTH * (1 + r % together), stencil.dtype)

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
            """Whether the row's squares count in this lane."""
            if mixed:
                return place.mine & (place.row + r >= depth) & (place.row + r < depth + tile.own)
            return place.mine

        one_row = new_or_fixed_row if mixed else new_row

        def plain(u, c, north, south, squares, before, place, tile):
            quad = one_row(u, c, north, south, place, tile)
            after, squares = others(u, c, u[r], south, squares, before, place, tile)
            return (quad,) + after, squares

        def gathering(u, c, north, south, squares, before, place, tile):
            quad = one_row(u, c, north, south, place, tile)
            more = before + changes(quad, u[r], counted(place, tile), place, tile)
            after, squares = others(u, c, u[r], south, squares, more, place, tile)
            return (quad,) + after, squares

        def adding(u, c, north, south, squares, before, place, tile):
            quad = one_row(u, c, north, south, place, tile)
            more = before + changes(quad, u[r], counted(place, tile), place, tile)
            after, squares = others(u, c, u[r], south, add(squares, more), (), place, tile)
            return (quad,) + after, squares

        if not norms:
            return plain
        return adding if r % together == together - 1 or r == rows - 1 else gathering

    def end(u, c, north, south, squares, before, place, tile):
        return (), squares

    every = chain(row, end, rows)

    def sweep(u, c, north, south, squares, place, tile):
        return every(u, c, north, south, squares, (), place, tile)

    return sweep


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
