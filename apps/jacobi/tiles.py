"""The tiles of a sweep, and the exchange of the edge rows by the tiles that have them.

Two fields are enough.  In sweep k a block writes a part of a neighbour's halo, in the field that the neighbour last read
in sweep k-1.  Before that the block waits for the neighbour's signal of sweep k-1; the neighbour's block that reads this
part sends the signal after the read.  A row that was sent in sweep k is overwritten in sweep k+2, after a signal of sweep
k+1, which the neighbour sends after the row has arrived.  Signals count exchanges and are never reset.  Each side has
its own signals, since both neighbours may be the same PE.  A signal has two words, for odd and even exchanges, because
two exchanges may be under way and arrive in any order.
"""

from typing import NamedTuple

from pennympi.kernels.block import Message, Words, fence, put_signal, read_epoch, wait

from .loop_words import loop_at

MOST_TILE_ROWS, COLUMNS = 16, 1024  # the most rows, and the columns, of a tile
ABOVE, BELOW = 0, 1  # sides of a PE's rows


class Band(NamedTuple):
    """The rows of two fields that a launch sweeps.

    new, old:   addresses of the fields; the address of column 1 of a row is a multiple of VECTOR_BYTES
    rows:       number of rows of this PE, rows 1 .. rows of a field
    edges:      number of edge rows, 0 to 2: the first and last row, which are swept first, as tiles of one row
    tile_rows:  number of rows of the other tiles
    nx:         number of columns
    pitch:      bytes from a row to the next row;  item_bytes: bytes of an element
    """

    new: int
    old: int
    rows: int
    edges: int
    tile_rows: int
    nx: int
    pitch: int
    item_bytes: int


class Neighbours(NamedTuple):
    """The neighbours, whose halos get the edge rows.

    up, down:   PEs above and below;  rows_above: number of rows of the PE above
    across:     number of tiles of a row
    signals:    address of (odd and even exchanges, 2 sides, across) words; 0: the kernel exchanges no rows
    """

    up: int
    down: int
    rows_above: int
    across: int
    signals: int


def tiles_across(nx):
    """Number of tiles of a row, without the fixed columns."""
    return (nx - 2 + COLUMNS - 1) // COLUMNS


def tile(band: Band, number):
    """Tile ``number``: (first row, row after the last, first column, column after the last), without the fixed columns.

    The edge rows come first, since neighbours wait for them.
    """
    across = tiles_across(band.nx)
    row, left = number // across, 1 + number % across * COLUMNS
    top = 1 + row * (band.rows - 1) if row < band.edges else 2 + (row - band.edges) * band.tile_rows
    stop = top + 1 if row < band.edges else min(top + band.tile_rows, band.rows)
    return top, stop, left, min(left + COLUMNS, band.nx - 1)


def signal_word(neighbours: Neighbours, epoch, side, column):
    """Address of the signal that a tile's part of the halo at a side has arrived."""
    return neighbours.signals + 8 * (((epoch & 1) * 2 + side) * neighbours.across + column)


def await_halo(ctx, band: Band, neighbours: Neighbours, epoch, top, left):
    """Wait for the part of the halo that a tile of an edge row reads, which the previous exchange, ``epoch``, brings."""
    for side in range(2):
        if top == (band.rows if side == BELOW else 1):
            word = signal_word(neighbours, epoch, side, left // COLUMNS)
            wait(ctx, word, epoch, neighbours.down if side == BELOW else neighbours.up)


def put_edge(ctx, band: Band, neighbours: Neighbours, epoch, top, left, right):
    """Put a tile of an edge row into the halos.  The halo below the rows of the PE above is its row rows_above + 1."""
    for side in range(2):
        if top == (1 if side == BELOW else band.rows):
            row, offset = band.new + top * band.pitch, left * band.item_bytes
            halo = band.new + (neighbours.rows_above + 1) * band.pitch if side == BELOW else band.new
            word = signal_word(neighbours, epoch, side, left // COLUMNS)
            pe = neighbours.up if side == BELOW else neighbours.down
            put_signal(ctx, Message(halo + offset, row + offset, (right - left) * band.item_bytes, pe), word, epoch)


def all_arrived(ctx, neighbours: Neighbours, state: Words):
    """The kernel after a loop on the device, of one block: wait for the last exchange.  state: the loop's words"""
    fence(ctx)
    loop = loop_at(state)
    epoch = read_epoch(loop.epoch, 0) + read_epoch(loop.ran, 0)
    for column in range(neighbours.across):
        wait(ctx, signal_word(neighbours, epoch, ABOVE, column), epoch, neighbours.up)
        wait(ctx, signal_word(neighbours, epoch, BELOW, column), epoch, neighbours.down)
