"""The exchange of the rims of tiles: a block gives other blocks, from registers, what they need, and takes its own rim.

An inbox has two buffers: exchange n uses buffer ``n & 1``.  A block gives exchange n + 2 after it has taken n + 1 of
all neighbours, which gave n + 1 after all of their threads had taken n: so the buffer is free.  Numbers have 31 bits.
They go on from launch to launch, so that nothing is ever cleared.  A block that has given up adds POISONED, so that a
block that waits for it gives up too.
"""

from collections.abc import Callable
from functools import cache
from typing import Any

from ...kernels.block import real
from ...kernels.sweep.formula import Stencil
from ..gpu import cuda
from ..intrinsics import load_word
from ..stubs import missing_line
from ..waits import SPINS
from .columns import each
from .quads import WIDTH, get_quad, load_shared, put_quad
from .shared import load_number, load_vector, store_number, store_vector
from .tile_place import WORD, Memory, chain, place_anew
from .tile_shape import GIVES, SOURCES, Shape
from .warp import LANES

NUMBERS, POISONED = (1 << 31) - 1, 1 << 31


@cache
def side_store(item_bytes: int, side: int) -> Callable[..., Any]:
    """``store(quad, at, c)``: a quad's columns that lie in a side of the rim, of which the first is number c there."""

    def store(k: int) -> Callable[..., Any]:
        def column(quad, at, c):
            if (c + k >= 0) & (c + k < WIDTH * side):
                store_number(at + (c + k) * item_bytes, quad[k])
            return 0

        return column

    return each(store, WIDTH)


@cache
def rim_of(stencil: Stencil, shape: Shape) -> tuple[Any, Any, Any]:
    """(``update_row``, ``update_rows``, ``keep_rows``): the rim to and from the cells of an exchange.

    update_row(quad, j, cells, place, tile): row j with what the exchange has brought of it
    update_rows(u, cells, place, tile): the same of all rows of a warp
    keep_rows(u, cells, place, tile): what they hold of the rim to the cells
    """
    depth, side, edge = shape.depth, shape.side, shape.edge
    quad_bytes, item_bytes = WIDTH * stencil.item_bytes, stencil.item_bytes
    sides = 2 * LANES * depth * quad_bytes

    def right(place, tile):
        """The first column of a lane's quad, counted from the rim's first at the right."""
        return place.column - WIDTH * side - tile.width

    def load_side(k: int) -> Callable[..., Any]:
        def column(quad, at, c):
            value = quad[k]
            if (c + k >= 0) & (c + k < WIDTH * side):
                value = load_number(at + (c + k) * item_bytes, value)
            return value

        return column

    load_sides, store_sides = each(load_side, WIDTH), side_store(item_bytes, side)

    def in_rim(j, tile):
        return ((j >= 0) & (j < depth)) | ((j >= depth + tile.own) & (j < 2 * depth + tile.own))

    def row_at(j, cells, place, tile):
        return cells + ((j if j < depth else j - tile.own) * LANES + place.lane) * quad_bytes

    def side_at(j, cells, place):
        return cells + sides + (j * 2 * side + place.lane) * quad_bytes

    def updated(quad, j, cells, place, tile):
        c = right(place, tile)
        if in_rim(j, tile):
            if place.mine:
                quad = load_shared(row_at(j, cells, place, tile), quad[0])
        if (j >= 0) & (j < 2 * depth + tile.own):
            at = side_at(j, cells, place)
            if edge:
                if place.lane < side:
                    quad = load_shared(at, quad[0])
                quad = load_sides(quad, at + (side - place.lane) * quad_bytes, c)
            elif (place.lane < side) | ((c >= 0) & (c < WIDTH * side)):
                right_at = at + (side - place.lane) * quad_bytes + c * item_bytes
                quad = load_shared(at if place.lane < side else right_at, quad[0])
        return quad

    def keep(quad, j, cells, place, tile):
        c = right(place, tile)
        if in_rim(j, tile):
            if place.mine:
                store_vector(row_at(j, cells, place, tile), quad)
        if j < 2 * depth + tile.own:
            at = side_at(j, cells, place)
            if place.lane < side:
                store_vector(at, quad)
            store_sides(quad, at + (side - place.lane) * quad_bytes, c)

    def keep_of(r: int) -> Callable[..., Any]:
        def row(u, cells, place, tile):
            keep(u[r], place.row + r, cells, place, tile)
            return 0

        return row

    def update_of(r: int) -> Callable[..., Any]:
        def row(u, cells, place, tile):
            return updated(u[r], place.row + r, cells, place, tile)

        return row

    return updated, each(update_of, shape.rows), each(keep_of, shape.rows)


@cache
def give_of(stencil: Stencil, shape: Shape, memory: Memory) -> Callable[..., None]:
    """``give(u, number, buffer, place, tile)``: a warp gives what others need of its rows."""
    rows, depth, side = shape.rows, shape.depth, shape.side
    item_bytes, quad_bytes = stencil.item_bytes, WIDTH * stencil.item_bytes
    packet_bytes = 2 * quad_bytes
    buffer_bytes = shape.cells * packet_bytes
    warps = shape.warps

    stage_sides = side_store(item_bytes, side)

    def row(r: int, others: Any) -> Callable[..., None]:
        def go(u, number, above, below, columns, left, right, place, tile):
            j = place.row + r
            if place.mine:
                at = (j * LANES + place.lane) * packet_bytes
                if (j >= depth) & (j < 2 * depth) & (above != 0):
                    put_quad(above + at, number, u[r])
                if (j >= tile.own) & (j < depth + tile.own) & (below != 0):
                    put_quad(below + at, number, u[r])
            at = columns + r * 2 * side * quad_bytes
            if (left >= 0) & (left < side):
                store_vector(at + left * quad_bytes, u[r])
            stage_sides(u[r], at + side * quad_bytes, right)
            others(u, number, above, below, columns, left, right, place, tile)

        return go

    def end(u, number, above, below, columns, left, right, place, tile):
        pass

    give_rows = chain(row, end, rows)

    def give(u, number, buffer, place, tile):
        offset = buffer * buffer_bytes
        above, below = load_vector(place.shared + memory.targets + 16 * warps * LANES, 0)
        above = above + offset if above != 0 else 0
        below = below + offset if below != 0 else 0
        columns = place.shared + memory.columns + place.warp * rows * 2 * side * quad_bytes
        left = place.lane - (side if tile.west else 0)
        right = place.column - tile.width - (0 if tile.east else WIDTH * side)
        give_rows(u, number, above, below, columns, left, right, place, tile)
        cuda.syncwarp()
        if place.lane < rows * 2 * side:
            level, beyond = load_vector(place.shared + memory.targets + 16 * (place.warp * LANES + place.lane), 0)
            quad = load_shared(columns + place.lane * quad_bytes, u[0][0])
            if level != 0:
                put_quad(level + offset, number, quad)
            if beyond != 0:
                put_quad(beyond + offset, number, quad)

    return give


@cache
def take_of(stencil: Stencil, shape: Shape, memory: Memory) -> Callable[..., None]:
    """``take(ctx, number, buffer, table, place, tile)``: the threads wait for the quads of the rim."""
    depth, side, threads, cells = shape.depth, shape.side, shape.warps * LANES, shape.cells
    quad_bytes = WIDTH * stencil.item_bytes
    packet_bytes = 2 * quad_bytes

    def source_of(cell, tile):
        """Which of SOURCES gives a cell; -1: none."""
        if cell < 2 * LANES * depth:
            lane, source = cell % LANES, cell // (LANES * depth)
            known = (tile.south if source == 1 else tile.north) & (lane >= side) & ((lane - side) * WIDTH < tile.width)
        else:
            j, q = (cell - 2 * LANES * depth) // (2 * side), (cell - 2 * LANES * depth) % (2 * side)
            source = 2 if q < side else 5
            known = tile.west if q < side else tile.east
            if j < depth:
                source += 1
                known |= tile.north
            elif j >= depth + tile.own:
                source += 2
                known = (known | tile.south) & (j < 2 * depth + tile.own)
        return source if known else -1

    def wait(ctx, at, number, source, table, dead, like):
        """The quad, once it is there or the wait has given up."""
        quad, found = get_quad(at, number, like)
        spins = 0
        since_ns = 0
        while found != number:
            spins += 1
            if spins % SPINS == 0:
                since_ns = missing_line(ctx, found, number, load_word(table + WORD * (SOURCES + source)), since_ns)
                if since_ns < 0:
                    store_vector(dead, (1, 1))
                    return quad
            quad, found = get_quad(at, number, like)
        return quad

    def cell_of(i: int, others: Any) -> Callable[..., None]:
        def go(ctx, number, buffer, table, place, tile):
            cell = place.warp * LANES + place.lane + i * threads
            source = source_of(cell, tile)
            if source >= 0:
                at = tile.inbox + (buffer * cells + cell) * packet_bytes
                quad = wait(ctx, at, number, source, table, place.shared + memory.dead, real(0.0))
                store_vector(place.shared + memory.cells + (buffer * cells + cell) * quad_bytes, quad)
            others(ctx, number, buffer, table, place, tile)

        return go

    def end(ctx, number, buffer, table, place, tile):
        pass

    return chain(cell_of, end, -(-cells // threads))


@cache
def exchanging(stencil: Stencil, shape: Shape, memory: Memory) -> tuple[Any, Any, Any]:
    """(``start``, ``give``, ``take``) of a block's tile.

    start(table, tile, place): before the first exchange; a barrier must follow, as after each ``take``
    give(u, number, place, tile): of the rows u, in an exchange
    take(ctx, number, table, place, tile): what the others give in it, to the cells
    """
    depth, side, warps = shape.depth, shape.side, shape.warps
    packet_bytes = 2 * WIDTH * stencil.item_bytes
    give_rows, take_cells = give_of(stencil, shape, memory), take_of(stencil, shape, memory)

    def start(table, tile, place):
        """Keep where this lane gives its quad of the warp's columns, and where rows go."""
        row, q = place.row + place.lane // (2 * side), place.lane % (2 * side)
        gives = table + WORD * (GIVES + (2 if q < side else 5))
        at = row * (2 * side * packet_bytes) + q % side * packet_bytes
        level, above, below = load_word(gives), load_word(gives + WORD), load_word(gives + 2 * WORD)
        first = depth if tile.north else 0
        stop = depth + tile.own if tile.south else 2 * depth + tile.own
        level = level + at if (level != 0) & (row >= first) & (row < stop) else 0
        beyond = 0
        if (row >= depth) & (row < 2 * depth) & (above != 0):
            beyond = above + at
        if (row >= tile.own) & (row < depth + tile.own) & (below != 0):
            beyond = below + at
        targets = place.shared + memory.targets
        store_vector(targets + 16 * (place.warp * LANES + place.lane), (level, beyond))
        if (place.warp == 0) & (place.lane == 0):
            gives = table + WORD * GIVES
            store_vector(targets + 16 * (warps * LANES), (load_word(gives), load_word(gives + WORD)))
            store_vector(place.shared + memory.dead, (0, 0))

    def dead(place):
        return load_vector(place.shared + memory.dead, 0)[0] != 0

    def give(u, number, place, tile):
        place = place_anew(place)
        sent = number & NUMBERS
        give_rows(u, sent | POISONED if dead(place) else sent, number & 1, place, tile)

    def take(ctx, number, table, place, tile):
        place = place_anew(place)
        if not dead(place):
            take_cells(ctx, number & NUMBERS, number & 1, table, place, tile)

    return start, give, take
