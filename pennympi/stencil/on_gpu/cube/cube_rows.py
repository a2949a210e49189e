"""What a thread of a block of ``cube_blocked.py`` does with its rows of a plane: tuples of pieces of 16 bytes."""

from ....compile.unroll import Static, static
from ....cuda.compiler.gpu import cuda
from ..warp.norm import add_values_of_warp
from ..warp.pieces import copy_piece, load_piece_where, load_shared_where, store_numbers, store_shared_where
from ..warp.shared import PIECE_BYTES, load_vector
from ..warp.stepped import groups_of_halves, half_of_piece, stepped_piece
from ..warp.warp import pick, shift_down, shift_up, within
from .cube_place import Cube


def copy_rows(cube: Static[Cube], needed, slot, at, place):
    """Begin to copy the thread's rows of a plane, at address ``at``, to the ring."""
    for r in static(cube.tile.rows):
        is_needed = needed & within(place.needed_y + r, place.needed_rows)
        copy_piece(is_needed, slot + r * cube.row_bytes, at + r * place.row)


def load_rows(cube: Static[Cube], at, zero):
    """The thread's rows of a plane in shared memory."""
    return tuple(load_vector(at + r * cube.row_bytes, zero) for r in static(cube.tile.rows))


def stepped_rows(cube: Static[Cube], planes, read, numbers, coefficients):
    """The rows' new values.

    planes: the rows of the planes before, here and after
    read:   address of the first row in shared memory, where the numbers of other warps are
    """
    (before, here, after), rows, zero = planes, cube.tile.rows, planes[1][0][0]
    above = (load_vector(read - cube.row_bytes, zero), *here)
    below = (*here, load_vector(read + rows * cube.row_bytes, zero))
    lines = tuple(line_of_row(cube, here[r], read + r * cube.row_bytes) for r in static(rows))
    return tuple(
        stepped_piece(cube.stencil, (before[r], after[r]), (above[r], below[r + 1]), lines[r], numbers, coefficients[r])
        for r in static(rows)
    )


def line_of_row(cube: Static[Cube], here, read):
    """A piece, with the numbers before and after it, which are in shared memory at the ends of a warp."""
    left = load_shared_where(cuda.laneid == 0, read - cube.stencil.item_bytes, shift_up(here[cube.width - 1]))
    right = load_shared_where(cuda.laneid == 31, read + PIECE_BYTES, shift_down(here[0]))
    return (left, *here, right)


def coefficients_of_rows(cube: Static[Cube], x, place, here):
    """The rows of the field of coefficients, where the formula applies; anything where it takes none."""
    if not cube.stencil.has_coefficient:
        return here
    return tuple(coefficients_of_row(cube, x, place, r, here[r]) for r in static(cube.tile.rows))


def coefficients_of_row(cube: Static[Cube], x, place, r, here):
    """One of these rows."""
    inside = within(x - place.live_x, place.live_planes) & within(place.live_y + r, place.live_rows)
    inside = inside & (place.live_z + cube.width > 0) & (place.live_z < place.live_numbers)
    return load_piece_where(inside, place.coefficient + x * place.plane + r * place.row, here)


def kept_rows(cube: Static[Cube], new, here, live, place):
    """New where the formula applies, else here.  live: whether it does in x"""
    return tuple(
        kept_piece(cube.width, new[r], here[r], live & within(place.live_y + r, place.live_rows), place)
        for r in static(cube.tile.rows)
    )


def kept_piece(width: Static[int], new, here, live, place):
    """The numbers of one of these rows."""
    return tuple(pick(live & within(place.live_z + k, place.live_numbers), new[k], here[k]) for k in static(width))


def put_rows(cube: Static[Cube], new, at, place):
    """Store the rows in shared memory."""
    for r in static(cube.tile.rows):
        store_shared_where(place.active, at + r * cube.row_bytes, new[r])


def write_rows(cube: Static[Cube], new, to, place):
    """Store the numbers of the rows that are the block's own in the new field."""
    for r in static(cube.tile.rows):
        store_numbers(place.first, own_stop(place, r), to + r * place.row, new[r])


def own_stop(place, r):
    """The first number of a row's piece that is not the block's own."""
    return pick(within(place.own_y + r, place.own_rows), place.stop, 0)


def add_squares_of_rows(cube: Static[Cube], squares, new, old, place):
    """The squares with the groups of the block's own points."""
    rows = cube.tile.rows
    halves = tuple(half_of_piece(cube.stencil, new[r], old[r], place.first, own_stop(place, r)) for r in static(rows))
    return add_values_of_warp((rows + 1) // 2, squares, groups_of_halves(rows, halves))
