"""The exchange of the rims of tiles: a block sends quads from registers to other blocks, and receives its own rim.

An inbox has two buffers: exchange n uses buffer ``n & 1``.  A block sends exchange n + 2 after it has received n + 1 from
all neighbours, which sent n + 1 after all their threads had received n: so the buffer is free.  An exchange's number has
31 bits.  Numbers continue from launch to launch, so inboxes are never cleared.  A block that has given up adds POISONED
to the number, so that a block that waits for its packets gives up too.
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
from .tile_shape import SOURCES, TARGETS

NUMBERS, POISONED = (1 << 31) - 1, 1 << 31


# The rim in the cells of an exchange


def right_column(tiles: Static[Tiles], place):
    """Index of the first column of a lane's quad; column 0 is the first column of the rim's right side."""
    return place.column - tiles.rim - place.tile.width


def in_rim(depth, j, own):
    """True if row j belongs to the rim above or below ``own`` rows."""
    return ((j >= 0) & (j < depth)) | ((j >= depth + own) & (j < 2 * depth + own))


def row_cell(tiles: Static[Tiles], j, cells, place):
    """Address of the cell of this lane's quad of row j of the rim."""
    return cells + ((j if j < tiles.shape.depth else j - place.tile.own) * LANES + place.lane) * tiles.quad_bytes


def side_cell(tiles: Static[Tiles], j, cells, place):
    """Address of the cell of this lane's quad of row j in the left side of the rim."""
    sides = 2 * LANES * tiles.shape.depth * tiles.quad_bytes
    return cells + sides + (j * 2 * tiles.shape.side + place.lane) * tiles.quad_bytes


def load_side(tiles: Static[Tiles], quad, address, c):
    """A quad with the numbers of its columns in a side of the rim.  c: index of the quad's first column in the side"""
    return tuple(number_of_side(tiles, quad[k], address, c + k) for k in static(WIDTH))


def number_of_side(tiles: Static[Tiles], value, address, c):
    """The number of column c of a side; ``value`` if the column is outside."""
    if (c >= 0) & (c < tiles.rim):
        value = load_number(address + c * tiles.stencil.item_bytes, value)
    return value


def store_side(tiles: Static[Tiles], quad, address, c):
    """Store the numbers of a quad's columns in a side of the rim.  c: index of the quad's first column in the side"""
    for k in static(WIDTH):
        if (c + k >= 0) & (c + k < tiles.rim):
            store_number(address + (c + k) * tiles.stencil.item_bytes, quad[k])


def update_row(tiles: Static[Tiles], quad, j, cells, place):
    """The quad of row j with the rim's numbers from the cells."""
    (depth, side), c, own = (tiles.shape.depth, tiles.shape.side), right_column(tiles, place), place.tile.own
    if in_rim(depth, j, own):
        if place.is_own:
            quad = load_shared(row_cell(tiles, j, cells, place), quad[0])
    if (j >= 0) & (j < 2 * depth + own):
        left = side_cell(tiles, j, cells, place)
        right = left + (side - place.lane) * tiles.quad_bytes
        if tiles.shape.edge:
            if place.lane < side:
                quad = load_shared(left, quad[0])
            quad = load_side(tiles, quad, right, c)
        elif (place.lane < side) | ((c >= 0) & (c < tiles.rim)):
            quad = load_shared(left if place.lane < side else right + c * tiles.stencil.item_bytes, quad[0])
    return quad


def update_rows(tiles: Static[Tiles], u, cells, place):
    """``update_row`` for all rows of a warp."""
    return tuple(update_row(tiles, u[r], place.row + r, cells, place) for r in static(tiles.shape.rows))


def keep_rows(tiles: Static[Tiles], u, cells, place):
    """``keep_row`` for all rows of a warp."""
    for r in static(tiles.shape.rows):
        keep_row(tiles, u[r], place.row + r, cells, place)


def keep_row(tiles: Static[Tiles], quad, j, cells, place):
    """Store the numbers of row j's quad that belong to the rim in the cells."""
    (depth, side), c, own = (tiles.shape.depth, tiles.shape.side), right_column(tiles, place), place.tile.own
    if in_rim(depth, j, own):
        if place.is_own:
            store_vector(row_cell(tiles, j, cells, place), quad)
    if j < 2 * depth + own:
        left = side_cell(tiles, j, cells, place)
        if place.lane < side:
            store_vector(left, quad)
        store_side(tiles, quad, left + (side - place.lane) * tiles.quad_bytes, c)


# The exchange with other blocks


def start_exchanges(tiles: Static[Tiles], table, place):
    """Before the first exchange: store in shared memory the addresses to which this lane sends.

    In an exchange lane ``place.lane`` sends quad q of the columns of one of the warp's rows, to the tile at the side, and
    to the tile at a corner.  A barrier must follow, as after each ``receive``.
    """
    tile, depth, side, memory = place.tile, tiles.shape.depth, tiles.shape.side, tiles.memory
    row, q = place.row + place.lane // (2 * side), place.lane % (2 * side)
    words = table + WORD * (TARGETS + (2 if q < side else 5))
    offset = row * (2 * side * tiles.packet_bytes) + q % side * tiles.packet_bytes
    to_side, above, below = load_word(words), load_word(words + WORD), load_word(words + 2 * WORD)
    first = depth if tile.above else 0
    stop = depth + tile.own if tile.below else 2 * depth + tile.own
    to_side = to_side + offset if (to_side != 0) & (row >= first) & (row < stop) else 0
    to_corner = 0
    if (row >= depth) & (row < 2 * depth) & (above != 0):
        to_corner = above + offset
    if (row >= tile.own) & (row < depth + tile.own) & (below != 0):
        to_corner = below + offset
    targets = place.shared + memory.targets
    store_vector(targets + 16 * (place.warp * LANES + place.lane), (to_side, to_corner))
    if (place.warp == 0) & (place.lane == 0):
        words = table + WORD * TARGETS
        store_vector(targets + 16 * (tiles.shape.warps * LANES), (load_word(words), load_word(words + WORD)))
        store_vector(place.shared + memory.dead, (0, 0))


def has_given_up(tiles: Static[Tiles], place):
    """True if a wait of this block has given up."""
    return load_vector(place.shared + tiles.memory.dead, 0)[0] != 0


def send(tiles: Static[Tiles], u, number, place):
    """Send the quads of a warp's rows that other blocks need, in exchange ``number``."""
    place = place_anew(place)
    sent = number & NUMBERS
    send_rows(tiles, u, sent | POISONED if has_given_up(tiles, place) else sent, number & 1, place)


def send_rows(tiles: Static[Tiles], u, number, buffer, place):
    """Put the rows to the tiles above and below, then the columns to the tiles at the sides and corners."""
    rows, side, memory = tiles.shape.rows, tiles.shape.side, tiles.memory
    offset = buffer * tiles.shape.cells * tiles.packet_bytes
    targets = place.shared + memory.targets
    above, below = load_vector(targets + 16 * tiles.shape.warps * LANES, 0)
    above = above + offset if above != 0 else 0
    below = below + offset if below != 0 else 0
    columns = place.shared + memory.columns + place.warp * rows * 2 * side * tiles.quad_bytes
    for r in static(rows):
        send_row(tiles, u[r], place.row + r, (number, above, below), place)
        stage_columns(tiles, u[r], columns + r * 2 * side * tiles.quad_bytes, place)
    cuda.syncwarp()
    if place.lane < rows * 2 * side:
        to_side, to_corner = load_vector(targets + 16 * (place.warp * LANES + place.lane), 0)
        quad = load_shared(columns + place.lane * tiles.quad_bytes, u[0][0])
        if to_side != 0:
            put_quad(to_side + offset, number, quad)
        if to_corner != 0:
            put_quad(to_corner + offset, number, quad)


def send_row(tiles: Static[Tiles], quad, j, exchange, place):
    """Put a quad of row j to the tiles above and below that need it.

    exchange: (number of the exchange, target address above, target address below; 0: no tile)
    """
    (number, above, below), depth, own = exchange, tiles.shape.depth, place.tile.own
    if place.is_own:
        offset = (j * LANES + place.lane) * tiles.packet_bytes
        if (j >= depth) & (j < 2 * depth) & (above != 0):
            put_quad(above + offset, number, quad)
        if (j >= own) & (j < depth + own) & (below != 0):
            put_quad(below + offset, number, quad)


def stage_columns(tiles: Static[Tiles], quad, address, place):
    """Store in shared memory the columns of a row that tiles at the sides need."""
    side, tile = tiles.shape.side, place.tile
    left = place.lane - (side if tile.left else 0)
    if (left >= 0) & (left < side):
        store_vector(address + left * tiles.quad_bytes, quad)
    right = place.column - tile.width - (0 if tile.right else tiles.rim)
    store_side(tiles, quad, address + side * tiles.quad_bytes, right)


def receive(tiles: Static[Tiles], ctx, number, table, place):
    """Wait for the packets of exchange ``number``, and store their quads in the cells."""
    place = place_anew(place)
    if not has_given_up(tiles, place):
        threads = tiles.shape.warps * LANES
        for i in static((tiles.shape.cells + threads - 1) // threads):
            cell = place.warp * LANES + place.lane + i * threads
            receive_cell(tiles, ctx, cell, (number, table), place)


def receive_cell(tiles: Static[Tiles], ctx, cell, exchange, place):
    """Wait for the quad of a cell.  exchange: (number of the exchange, address of the block's table)"""
    number, table = exchange
    source, index = source_of(tiles, cell, place.tile), (number & 1) * tiles.shape.cells + cell
    if source >= 0:
        pe_word, dead = table + WORD * (SOURCES + source), place.shared + tiles.memory.dead
        quad = await_quad(ctx, place.tile.inbox + index * tiles.packet_bytes, number & NUMBERS, pe_word, dead)
        store_vector(place.shared + tiles.memory.cells + index * tiles.quad_bytes, quad)


def source_of(tiles: Static[Tiles], cell, tile):
    """Index, after SOURCES, of the PE that sends a cell; -1: no PE sends it."""
    depth, side = tiles.shape.depth, tiles.shape.side
    if cell < 2 * LANES * depth:
        lane, source = cell % LANES, cell // (LANES * depth)
        is_sent = (tile.below if source == 1 else tile.above) & (lane >= side) & ((lane - side) * WIDTH < tile.width)
    else:
        j, q = (cell - 2 * LANES * depth) // (2 * side), (cell - 2 * LANES * depth) % (2 * side)
        source = 2 if q < side else 5
        is_sent = tile.left if q < side else tile.right
        if j < depth:
            source += 1
            is_sent |= tile.above
        elif j >= depth + tile.own:
            source += 2
            is_sent = (is_sent | tile.below) & (j < 2 * depth + tile.own)
    return source if is_sent else -1


def await_quad(ctx, address, number, pe_word, dead):
    """The quad whose packets lie at an address, after they have arrived or the wait has given up.

    pe_word: address of the number of the PE that sends it;  dead: address of the words that a wait sets when it gives up
    """
    quad, arrived = get_quad(address, number, real(0.0))
    spins = 0
    since_ns = 0
    while arrived != number:
        spins += 1
        if spins % SPINS == 0:
            since_ns = missing_line(ctx, arrived, number, load_word(pe_word), since_ns)
            if since_ns < 0:
                store_vector(dead, (1, 1))
                return quad
        quad, arrived = get_quad(address, number, real(0.0))
    return quad
