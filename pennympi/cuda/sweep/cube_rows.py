"""What a thread of a block of ``cube_blocked.py`` does with its rows of a plane: tuples of pieces of 16 bytes."""

from collections.abc import Callable
from typing import Any

from ...kernels.sweep.formula import Stencil
from ..gpu import cuda
from .columns import each
from .cube_place import Sizes, Tile
from .norm import warp_adder
from .pieces import copy_piece, load_piece_where, load_shared_where, store_numbers, store_shared_where
from .shared import PIECE_BYTES, load_vector
from .stepped import groups_of_halves, half_of_piece, stepped_piece
from .warp import pick, shift_down, shift_up, within


def rows_copied(tile: Tile, sizes: Sizes) -> Callable[..., Any]:
    """``copy(here, slot, at, place)``: begins to copy the thread's rows of a plane, at address ``at``, to the ring."""

    def copied(r: int) -> Callable[..., Any]:
        offset = r * sizes.row_bytes

        def copy(here, slot, at, place):
            needed = here & within(place.needed_y + r, place.needed_rows)
            copy_piece(needed, slot + offset, at + r * place.row)
            return 0

        return copy

    return each(copied, tile.rows)


def rows_in_shared(tile: Tile, sizes: Sizes) -> Callable[..., Any]:
    """``load(at, zero)``: the thread's rows of a plane in shared memory."""

    def loaded(r: int) -> Callable[..., Any]:
        offset = r * sizes.row_bytes

        def load(at, zero):
            return load_vector(at + offset, zero)

        return load

    return each(loaded, tile.rows)


def rows_stepped(stencil: Stencil, tile: Tile, sizes: Sizes) -> Callable[..., Any]:
    """``step(planes, outer, read, numbers, coefficients, zero)``: the rows' new values.

    planes: the rows of the planes before, here and after
    outer:  the rows above the first and below the last one
    read:   address of the first one in shared memory, where the numbers of other warps are
    """
    stepped, last_number, item_bytes = stepped_piece(stencil), PIECE_BYTES // stencil.item_bytes - 1, stencil.item_bytes

    def row(r: int) -> Callable[..., Any]:
        offset, is_first, is_last = r * sizes.row_bytes, r == 0, r == tile.rows - 1
        above_row, below_row = max(r - 1, 0), min(r + 1, tile.rows - 1)

        def step(planes, outer, read, numbers, coefficients, zero):
            before, here, after = planes
            above = outer[0] if is_first else here[above_row]
            below = outer[1] if is_last else here[below_row]
            left = load_shared_where(cuda.laneid == 0, read + offset - item_bytes, shift_up(here[r][last_number]))
            right = load_shared_where(cuda.laneid == 31, read + offset + PIECE_BYTES, shift_down(here[r][0]))
            line = (left, *here[r], right)
            return stepped(here[r], (before[r], after[r]), (above, below), line, numbers, coefficients[r])

        return step

    return each(row, tile.rows)


def rows_of_coefficients(stencil: Stencil, tile: Tile) -> Callable[..., Any]:
    """``load(x, place, here)``: the rows of the field of coefficients, where the formula applies."""
    if not stencil.has_coefficient:
        return lambda x, place, here: here  # anything
    width = PIECE_BYTES // stencil.item_bytes

    def row(r: int) -> Callable[..., Any]:
        def load(x, place, here):
            inside = within(x - place.live_x, place.live_planes) & within(place.live_y + r, place.live_rows)
            inside = inside & (place.live_z + width > 0) & (place.live_z < place.live_numbers)
            return load_piece_where(inside, place.coefficient + x * place.plane + r * place.row, here[r])

        return load

    return each(row, tile.rows)


def rows_kept(stencil: Stencil, tile: Tile) -> Callable[..., Any]:
    """``keep(new, here, live, place)``: new where the formula applies, else here.  live: whether it does in x"""

    def number(k: int) -> Callable[..., Any]:
        def keep(new, here, live, place):
            return pick(live & within(place.live_z + k, place.live_numbers), new[k], here[k])

        return keep

    piece = each(number, PIECE_BYTES // stencil.item_bytes)

    def row(r: int) -> Callable[..., Any]:
        def keep(new, here, live, place):
            return piece(new[r], here[r], live & within(place.live_y + r, place.live_rows), place)

        return keep

    return each(row, tile.rows)


def rows_put(tile: Tile, sizes: Sizes) -> Callable[..., Any]:
    """``put(rows, at, place)``: stores the rows in shared memory."""

    def row(r: int) -> Callable[..., Any]:
        offset = r * sizes.row_bytes

        def put(rows, at, place):
            store_shared_where(place.active, at + offset, rows[r])
            return 0

        return put

    return each(row, tile.rows)


def rows_written(tile: Tile) -> Callable[..., Any]:
    """``write(rows, to, place)``: stores the numbers of the rows that are the block's own in the new field."""

    def row(r: int) -> Callable[..., Any]:
        def write(rows, to, place):
            stop = pick(within(place.own_y + r, place.own_rows), place.stop, 0)
            store_numbers(place.first, stop, to + r * place.row, rows[r])
            return 0

        return write

    return each(row, tile.rows)


def rows_squared(stencil: Stencil, tile: Tile) -> Callable[..., Any]:
    """``add(squares, new, old, place)``: the squares with the groups of the block's own points."""
    half = half_of_piece(stencil)

    def row(r: int) -> Callable[..., Any]:
        def own_half(new, old, place):
            stop = pick(within(place.own_y + r, place.own_rows), place.stop, 0)
            return half(new[r], old[r], place.first, stop)

        return own_half

    halves, values = each(row, tile.rows), groups_of_halves(tile.rows)
    add_values = warp_adder((tile.rows + 1) // 2)

    def add(squares, new, old, place):
        return add_values(squares, values(halves(new, old, place)))

    return add
