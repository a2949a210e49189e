"""The exchange of the rims of tiles: a block gives other blocks, from registers, what they need, and takes its own rim.

An inbox has two buffers: exchange n uses buffer ``n & 1``.  A block gives exchange n + 2 after it has taken n + 1 of
all neighbours, which gave n + 1 after all of their threads had taken n: so the buffer is free.  Numbers have 31 bits.
They go on from launch to launch, so that nothing is ever cleared.  A block that has given up adds POISONED, so that a
block that waits for it gives up too.
"""

from ....compile.unroll import Static, static
from ....cuda.compiler.gpu import cuda
from ....cuda.device.intrinsics import load_word
from ....cuda.device.stubs import missing_line
from ....cuda.device.waits import SPINS
from ....kernels.block import real
from ..warp.quads import WIDTH, get_quad, load_shared, put_quad
from ..warp.shared import load_number, load_vector, store_number, store_vector
from ..warp.warp import LANES
from .tile_place import WORD, Tiles, place_anew
from .tile_shape import GIVES, SOURCES

NUMBERS, POISONED = (1 << 31) - 1, 1 << 31


# The rim in the cells of an exchange


def right_column(tiles: Static[Tiles], place):
    """The first column of a lane's quad, counted from the rim's first at the right."""
    return place.column - tiles.rim - place.tile.width


def in_rim(depth, j, own):
    """Whether row j is one of the rim's, above or below ``own`` rows."""
    return ((j >= 0) & (j < depth)) | ((j >= depth + own) & (j < 2 * depth + own))


def row_cell(tiles: Static[Tiles], j, cells, place):
    """Address of the cell of this lane's quad of row j of the rim."""
    return cells + ((j if j < tiles.shape.depth else j - place.tile.own) * LANES + place.lane) * tiles.quad_bytes


def side_cell(tiles: Static[Tiles], j, cells, place):
    """Address of the cell of this lane's quad of row j in the left side of the rim."""
    sides = 2 * LANES * tiles.shape.depth * tiles.quad_bytes
    return cells + sides + (j * 2 * tiles.shape.side + place.lane) * tiles.quad_bytes


def load_side(tiles: Static[Tiles], quad, at, c):
    """A quad with its columns that lie in a side of the rim, of which the first is number c there."""
    return tuple(number_of_side(tiles, quad[k], at, c + k) for k in static(WIDTH))


def number_of_side(tiles: Static[Tiles], value, at, c):
    """One of these numbers."""
    if (c >= 0) & (c < tiles.rim):
        value = load_number(at + c * tiles.stencil.item_bytes, value)
    return value


def store_side(tiles: Static[Tiles], quad, at, c):
    """Store a quad's columns that lie in a side of the rim, of which the first is number c there."""
    for k in static(WIDTH):
        if (c + k >= 0) & (c + k < tiles.rim):
            store_number(at + (c + k) * tiles.stencil.item_bytes, quad[k])


def update_row(tiles: Static[Tiles], quad, j, cells, place):
    """Row j with what an exchange has brought of it."""
    (depth, side), c, own = (tiles.shape.depth, tiles.shape.side), right_column(tiles, place), place.tile.own
    if in_rim(depth, j, own):
        if place.mine:
            quad = load_shared(row_cell(tiles, j, cells, place), quad[0])
    if (j >= 0) & (j < 2 * depth + own):
        at = side_cell(tiles, j, cells, place)
        right = at + (side - place.lane) * tiles.quad_bytes
        if tiles.shape.edge:
            if place.lane < side:
                quad = load_shared(at, quad[0])
            quad = load_side(tiles, quad, right, c)
        elif (place.lane < side) | ((c >= 0) & (c < tiles.rim)):
            quad = load_shared(at if place.lane < side else right + c * tiles.stencil.item_bytes, quad[0])
    return quad


def update_rows(tiles: Static[Tiles], u, cells, place):
    """The same of all rows of a warp."""
    return tuple(update_row(tiles, u[r], place.row + r, cells, place) for r in static(tiles.shape.rows))


def keep_rows(tiles: Static[Tiles], u, cells, place):
    """What the rows of a warp hold of the rim, to the cells."""
    for r in static(tiles.shape.rows):
        keep_row(tiles, u[r], place.row + r, cells, place)


def keep_row(tiles: Static[Tiles], quad, j, cells, place):
    """What row j holds of the rim, to the cells."""
    (depth, side), c, own = (tiles.shape.depth, tiles.shape.side), right_column(tiles, place), place.tile.own
    if in_rim(depth, j, own):
        if place.mine:
            store_vector(row_cell(tiles, j, cells, place), quad)
    if j < 2 * depth + own:
        at = side_cell(tiles, j, cells, place)
        if place.lane < side:
            store_vector(at, quad)
        store_side(tiles, quad, at + (side - place.lane) * tiles.quad_bytes, c)


# The exchange with other blocks


def start_exchanges(tiles: Static[Tiles], table, place):
    """Keep where this lane gives its quad of the warp's columns, and where rows go: before the first exchange.

    A barrier must follow, as after each ``take``.
    """
    tile, depth, side, memory = place.tile, tiles.shape.depth, tiles.shape.side, tiles.memory
    row, q = place.row + place.lane // (2 * side), place.lane % (2 * side)
    gives = table + WORD * (GIVES + (2 if q < side else 5))
    at = row * (2 * side * tiles.packet_bytes) + q % side * tiles.packet_bytes
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
        store_vector(targets + 16 * (tiles.shape.warps * LANES), (load_word(gives), load_word(gives + WORD)))
        store_vector(place.shared + memory.dead, (0, 0))


def has_given_up(tiles: Static[Tiles], place):
    """Whether a wait of this block has given up."""
    return load_vector(place.shared + tiles.memory.dead, 0)[0] != 0


def give(tiles: Static[Tiles], u, number, place):
    """Give what other blocks need of a warp's rows, in an exchange."""
    place = place_anew(place)
    sent = number & NUMBERS
    give_rows(tiles, u, sent | POISONED if has_given_up(tiles, place) else sent, number & 1, place)


def give_rows(tiles: Static[Tiles], u, number, buffer, place):
    """Put the rows to the blocks above and below, then the columns to all blocks at the sides."""
    rows, side, memory = tiles.shape.rows, tiles.shape.side, tiles.memory
    offset = buffer * tiles.shape.cells * tiles.packet_bytes
    targets = place.shared + memory.targets
    above, below = load_vector(targets + 16 * tiles.shape.warps * LANES, 0)
    above = above + offset if above != 0 else 0
    below = below + offset if below != 0 else 0
    columns = place.shared + memory.columns + place.warp * rows * 2 * side * tiles.quad_bytes
    for r in static(rows):
        give_row(tiles, u[r], place.row + r, (number, above, below), place)
        stage_columns(tiles, u[r], columns + r * 2 * side * tiles.quad_bytes, place)
    cuda.syncwarp()
    if place.lane < rows * 2 * side:
        level, beyond = load_vector(targets + 16 * (place.warp * LANES + place.lane), 0)
        quad = load_shared(columns + place.lane * tiles.quad_bytes, u[0][0])
        if level != 0:
            put_quad(level + offset, number, quad)
        if beyond != 0:
            put_quad(beyond + offset, number, quad)


def give_row(tiles: Static[Tiles], quad, j, exchange, place):
    """Put a quad of row j to the blocks above and below, where they need it.

    exchange: (its number, addresses of the inboxes above and below, 0: none)
    """
    (number, above, below), depth, own = exchange, tiles.shape.depth, place.tile.own
    if place.mine:
        at = (j * LANES + place.lane) * tiles.packet_bytes
        if (j >= depth) & (j < 2 * depth) & (above != 0):
            put_quad(above + at, number, quad)
        if (j >= own) & (j < depth + own) & (below != 0):
            put_quad(below + at, number, quad)


def stage_columns(tiles: Static[Tiles], quad, at, place):
    """Store the columns of a row that blocks at the sides need in shared memory."""
    side, tile = tiles.shape.side, place.tile
    left = place.lane - (side if tile.west else 0)
    if (left >= 0) & (left < side):
        store_vector(at + left * tiles.quad_bytes, quad)
    right = place.column - tile.width - (0 if tile.east else tiles.rim)
    store_side(tiles, quad, at + side * tiles.quad_bytes, right)


def take(tiles: Static[Tiles], ctx, number, table, place):
    """Wait for what the other blocks give in an exchange, and store it in the cells."""
    place = place_anew(place)
    if not has_given_up(tiles, place):
        threads = tiles.shape.warps * LANES
        for i in static((tiles.shape.cells + threads - 1) // threads):
            cell = place.warp * LANES + place.lane + i * threads
            take_cell(tiles, ctx, cell, (number, table), place)


def take_cell(tiles: Static[Tiles], ctx, cell, exchange, place):
    """Wait for the quad of one cell.  exchange: (its number, the block's table)"""
    number, table = exchange
    source, at = source_of(tiles, cell, place.tile), (number & 1) * tiles.shape.cells + cell
    if source >= 0:
        pe_word, dead = table + WORD * (SOURCES + source), place.shared + tiles.memory.dead
        quad = await_quad(ctx, place.tile.inbox + at * tiles.packet_bytes, number & NUMBERS, pe_word, dead)
        store_vector(place.shared + tiles.memory.cells + at * tiles.quad_bytes, quad)


def source_of(tiles: Static[Tiles], cell, tile):
    """Which of SOURCES gives a cell; -1: none."""
    depth, side = tiles.shape.depth, tiles.shape.side
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


def await_quad(ctx, at, number, pe_word, dead):
    """The quad at an address, once it is there or the wait has given up.

    pe_word: address of the PE that gives it;  dead: address of what a wait that gives up sets
    """
    quad, found = get_quad(at, number, real(0.0))
    spins = 0
    since_ns = 0
    while found != number:
        spins += 1
        if spins % SPINS == 0:
            since_ns = missing_line(ctx, found, number, load_word(pe_word), since_ns)
            if since_ns < 0:
                store_vector(dead, (1, 1))
                return quad
        quad, found = get_quad(at, number, real(0.0))
    return quad
