"""The levels of a pass over a box of three dimensions: each is a closure over the next one."""

from collections.abc import Callable
from typing import Any, NamedTuple

from ...kernels.sweep.formula import Stencil
from ...kernels.sweep.norm import LEVEL_BYTES, no_squares
from .cube_place import Sizes, Tile
from .cube_rows import rows_kept, rows_of_coefficients, rows_put, rows_squared, rows_stepped, rows_written
from .norm import add_squares_of_warp
from .shared import load_vector
from .warp import within


class Turn(NamedTuple):
    """Where the planes of a turn of the loop lie: that which comes in, x, and offsets in shared memory.

    back: of the plane of level 0 before;  read, write: of the other levels' newest planes, and of their next ones
    """

    x: int
    back: int
    read: int
    write: int


def levels(stencil: Stencil, depth: int, norms: str, tile: Tile, sizes: Sizes) -> tuple[Callable[..., Any], ...]:
    """The functions of a state, which is (planes before and here of level s - 1, squares of level s, state of s + 1):

    start(rows):                         from rows of any numbers
    advance(state, after, now, place, numbers, zero): the state after the turn in which the rows ``after`` came in
    end(state, words):                   adds the squares to the words
    """

    start: Callable[..., Any] = _nothing
    end: Callable[..., Any] = _nothing
    advance: Any = None
    for s in range(depth, 0, -1):
        summed = norms == "every" or norms == "last" and s == depth
        add = rows_squared(stencil, tile) if summed else _nothing
        start = _started(start, no_squares if summed else _nothing)
        step = _stepped(stencil, s, tile, sizes, s < depth)
        if advance:
            advance = _advanced(s, step, advance, add, summed, tile, sizes)
        else:
            advance = _ended(s, step, add, summed, tile)
        end = _added(end, (s - 1) * LEVEL_BYTES if norms == "every" else 0, summed)
    return start, advance, end


def _nothing(*_):
    return ()


def _started(inner: Callable[..., Any], none: Callable[..., Any]) -> Callable[..., Any]:
    def start(rows):
        return rows, rows, none(), inner(rows)

    return start


def _stepped(stencil: Stencil, s: int, tile: Tile, sizes: Sizes, kept: bool) -> Callable[..., Any]:
    """``step(state, after, now, place, numbers, zero)``: the rows of plane now.x - s of level s."""
    step_rows, coefficients_of = rows_stepped(stencil, tile, sizes), rows_of_coefficients(stencil, tile)
    keep, is_first, source = rows_kept(stencil, tile), s == 1, (s - 2) * 2 * sizes.plane_bytes
    up, down = sizes.row_bytes, tile.rows * sizes.row_bytes

    def step(state, after, now, place, numbers, zero):
        before, here = state[0], state[1]
        x = now.x - s
        read = place.ring + now.back if is_first else place.levels + now.read + source
        outer = load_vector(read - up, zero), load_vector(read + down, zero)
        coefficients = coefficients_of(x, place, here)
        new = step_rows((before, here, after), outer, read, numbers, coefficients, zero)
        live = within(x - place.live_x, place.live_planes)
        if kept and (place.edge or not live):
            new = keep(new, here, live, place)
        return new

    return step


def _advanced(
    s: int, step: Callable[..., Any], inner: Any, add: Any, summed: bool, tile: Tile, sizes: Sizes
) -> Callable[..., Any]:
    put, target = rows_put(tile, sizes), (s - 1) * 2 * sizes.plane_bytes

    def advance(state, after, now, place, numbers, zero):
        _, here, squares, rest = state
        new = step(state, after, now, place, numbers, zero)
        put(new, place.levels + now.write + target, place)
        if summed and within(now.x - s - place.own_x, place.own_planes):
            squares = add(squares, new, here, place)
        return here, after, squares, inner(rest, new, now, place, numbers, zero)

    return advance


def _ended(s: int, step: Callable[..., Any], add: Any, summed: bool, tile: Tile) -> Callable[..., Any]:
    write = rows_written(tile)

    def advance(state, after, now, place, numbers, zero):
        _, here, squares, rest = state
        new = step(state, after, now, place, numbers, zero)
        x = now.x - s
        if within(x - place.own_x, place.own_planes):
            write(new, place.to + x * place.plane, place)
            if summed:
                squares = add(squares, new, here, place)
        return here, after, squares, rest

    return advance


def _added(inner: Callable[..., Any], offset: int, summed: bool) -> Callable[..., Any]:
    def end(state, words):
        if summed:
            add_squares_of_warp(words + offset, state[2])
        return inner(state[3], words)

    return end
