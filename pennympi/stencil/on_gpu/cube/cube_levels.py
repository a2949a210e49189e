"""The levels of a pass over a box of three dimensions: a turn of the loop for a thread's rows of each level.

In turn x the previous, current and next planes of level s - 1 are its planes x - s - 1, x - s and x - s + 1.  The state
of level s is (previous plane and current plane of level s - 1, squares of level s).
"""

from typing import Any, NamedTuple

from ....compile.unroll import Static, static
from ....kernels.sweep.norm import LEVEL_BYTES, no_squares
from ..warp.norm import add_squares_of_warp
from ..warp.warp import within
from .cube_place import Cube
from .cube_rows import add_squares_of_rows, coefficients_of_rows, kept_rows, put_rows, stepped_rows, write_rows


class Turn(NamedTuple):
    """A turn of the loop.

    x:           index of the plane of level 0 that arrives
    back:        offset, in the ring, of plane x - 1 of level 0
    read, write: offsets, in the planes of the other levels, of the newest plane, and of the next plane
    """

    x: int
    back: int
    read: int
    write: int


def start_levels(cube: Static[Cube], rows):
    """The states before the first turn.  rows: rows of any numbers"""
    return tuple((rows, rows, no_squares() if s >= cube.first_norm else ()) for s in static(1, cube.depth + 1))


def advance_levels(cube: Static[Cube], states, after, turn: Turn, thread):
    """The states after a turn, in which the rows ``after`` of level 0 arrived.  thread: (place, numbers)"""
    following: tuple[Any, ...] = ()
    place = thread[0]
    for s in static(1, cube.depth + 1):
        previous, current, squares = states[s - 1]
        new = level_rows(cube, s, (previous, current, after), turn, thread)
        is_own = within(turn.x - s - place.own_x, place.own_planes)
        if s < cube.depth:
            put_rows(cube, new, place.levels + turn.write + (s - 1) * 2 * cube.plane_bytes, place)
        elif is_own:
            write_rows(cube, new, place.new + (turn.x - s) * place.plane, place)
        if s >= cube.first_norm:
            if is_own:
                squares = add_squares_of_rows(cube, squares, new, current, place)
        following = (*following, (current, after, squares))
        after = new
    return following


def level_rows(cube: Static[Cube], s: Static[int], planes, turn: Turn, thread):
    """The rows of plane turn.x - s of level s, from the previous, current and next planes of level s - 1."""
    (place, numbers), x = thread, turn.x - s
    read = place.ring + turn.back if s == 1 else place.levels + turn.read + (s - 2) * 2 * cube.plane_bytes
    new = stepped_rows(cube, planes, read, numbers, coefficients_of_rows(cube, x, place, planes[1]))
    if s < cube.depth:
        live = within(x - place.live_x, place.live_planes)
        if place.edge or not live:
            new = kept_rows(cube, new, planes[1], live, place)
    return new


def add_squares_of_levels(cube: Static[Cube], words, states):
    """Add the squares of the levels that have a norm to the words."""
    for s in static(cube.first_norm, cube.depth + 1):
        add_squares_of_warp(words + (s - cube.first_norm) * LEVEL_BYTES, states[s - 1][2])
