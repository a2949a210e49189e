"""The work of a thread of ``cube_blocked.py`` on its rows of a plane, a tuple of pieces of 16 bytes."""

from ....compile.unroll import Static, static
from ....cuda.compiler.gpu import cuda
from ..warp.norm import add_values_of_warp
from ..warp.pieces import copy_piece, load_piece_where, load_shared_where, store_numbers, store_shared_where
from ..warp.shared import PIECE_BYTES, load_vector
from ..warp.stepped import groups_of_halves, half_of_piece, stepped_piece
from ..warp.warp import pick, shift_down, shift_up, within
from .cube_place import Cube


def copy_rows(cube: Static[Cube], needed, to, src, place):
    """Begin to copy the thread's rows of a plane to the ring.  to, src: addresses of the first row"""
    for r in static(cube.tile.rows):
        is_needed = needed & within(place.needed_y + r, place.needed_rows)
        copy_piece(is_needed, to + r * cube.row_bytes, src + r * place.row)


def load_rows(cube: Static[Cube], address, zero):
    """The thread's rows of a plane in shared memory."""
    return tuple(load_vector(address + r * cube.row_bytes, zero) for r in static(cube.tile.rows))


def stepped_rows(cube: Static[Cube], planes, read, numbers, coefficients):
    """The rows' new values.

    planes: the thread's rows of the previous, current and next plane
    read:   address of the thread's first row of the current plane in shared memory
    """
    (before, u, after), rows, zero = planes, cube.tile.rows, planes[1][0][0]
    above = (load_vector(read - cube.row_bytes, zero), *u)
    below = (*u, load_vector(read + rows * cube.row_bytes, zero))
    lines = tuple(line_of_row(cube, u[r], read + r * cube.row_bytes) for r in static(rows))
    return tuple(
        stepped_piece(cube.stencil, (before[r], after[r]), (above[r], below[r + 1]), lines[r], numbers, coefficients[r])
        for r in static(rows)
    )


def line_of_row(cube: Static[Cube], piece, read):
    """The numbers of a piece, with the number before it and the number after it.  read: its address in shared memory"""
    left = load_shared_where(cuda.laneid == 0, read - cube.stencil.item_bytes, shift_up(piece[cube.width - 1]))
    right = load_shared_where(cuda.laneid == 31, read + PIECE_BYTES, shift_down(piece[0]))
    return (left, *piece, right)


def coefficients_of_rows(cube: Static[Cube], x, place, default):
    """The rows of coefficients; ``default`` at points that are not live, and if the formula takes no coefficient."""
    if not cube.stencil.has_coefficient:
        return default
    return tuple(coefficients_of_row(cube, x, place, r, default[r]) for r in static(cube.tile.rows))


def coefficients_of_row(cube: Static[Cube], x, place, r, default):
    """Row r of ``coefficients_of_rows``."""
    inside = within(x - place.live_x, place.live_planes) & within(place.live_y + r, place.live_rows)
    inside = inside & (place.live_z + cube.width > 0) & (place.live_z < place.live_numbers)
    return load_piece_where(inside, place.coefficient + x * place.plane + r * place.row, default)


def kept_rows(cube: Static[Cube], new, old, live, place):
    """The rows ``new``, with the values of ``old`` at points that are not live.  live: True if the plane is live"""
    return tuple(
        kept_piece(cube.width, new[r], old[r], live & within(place.live_y + r, place.live_rows), place)
        for r in static(cube.tile.rows)
    )


def kept_piece(width: Static[int], new, old, live, place):
    """The piece of one row of ``kept_rows``."""
    return tuple(pick(live & within(place.live_z + k, place.live_numbers), new[k], old[k]) for k in static(width))


def put_rows(cube: Static[Cube], new, to, place):
    """Store the rows in shared memory."""
    for r in static(cube.tile.rows):
        store_shared_where(place.active, to + r * cube.row_bytes, new[r])


def write_rows(cube: Static[Cube], new, to, place):
    """Store the rows' numbers that the block writes in the new field."""
    for r in static(cube.tile.rows):
        store_numbers(place.first, own_stop(place, r), to + r * place.row, new[r])


def own_stop(place, r):
    """The index after the last number of row r's piece that the block writes."""
    return pick(within(place.own_y + r, place.own_rows), place.stop, 0)


def add_squares_of_rows(cube: Static[Cube], squares, new, old, place):
    """The squares after the groups of the points that the block writes have been added."""
    rows = cube.tile.rows
    halves = tuple(half_of_piece(cube.stencil, new[r], old[r], place.first, own_stop(place, r)) for r in static(rows))
    return add_values_of_warp((rows + 1) // 2, squares, groups_of_halves(rows, halves))
