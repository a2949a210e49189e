"""The tiles of a sweep, and the exchange of the edge rows by the tiles that have them.

Two fields are enough.  In sweep k a tile's block writes a part of a neighbour's halo, in the field that the neighbour
last read in its sweep k-1.  Before that it waits for the neighbour's signal of sweep k-1, which the block that reads this
part sends after it has read it.  The row that was sent in sweep k is overwritten in sweep k+2, after a signal
of sweep k+1, which the neighbour sends after row k has arrived.  Signals count exchanges and are never reset.  Each
side has its own signals, since both neighbours may be the same PE.  A signal has two words, for odd and even exchanges,
because two exchanges may be under way, and one may overtake the other.
"""

from typing import NamedTuple

from pennympi.kernels.block import Message, Words, fence, put_signal, read_epoch, wait

from .loop_words import loop_at

HIGH, COLUMNS = 16, 1024  # of a tile
ABOVE, BELOW = 0, 1  # sides


class Band(NamedTuple):
    """The rows of two fields that a launch sweeps.

    new, old:  addresses of the fields: nx columns, of which column 1 lies on a multiple of VECTOR_BYTES
    rows:  of this PE, which are rows 1..rows;  high: of a tile
    edges: 0 to 2: the rows 1 and ``rows`` are swept first, as tiles of their own
    pitch, item: bytes from a row to the next, and of an element
    """

    new: int
    old: int
    rows: int
    edges: int
    high: int
    nx: int
    pitch: int
    item: int


class Near(NamedTuple):
    """The neighbours, whose halos get the edge rows.

    up, down: PEs above and below;  taller: rows of the PE above;  across: tiles of a row
    signals:  (odd and even exchanges, 2 sides, across) words; 0: the kernel exchanges nothing
    """

    up: int
    down: int
    taller: int
    across: int
    signals: int


def tiles_across(nx):
    """Tiles from the first column that is not fixed to the last one."""
    return (nx - 2 + COLUMNS - 1) // COLUMNS


def tile(band: Band, number):
    """A tile: (first row, row after the last, first column, column after the last), without the fixed columns.

    The edge rows come first, since neighbours wait for them.
    """
    across = tiles_across(band.nx)
    row, left = number // across, 1 + number % across * COLUMNS
    top = 1 + row * (band.rows - 1) if row < band.edges else 2 + (row - band.edges) * band.high
    stop = top + 1 if row < band.edges else min(top + band.high, band.rows)
    return top, stop, left, min(left + COLUMNS, band.nx - 1)


def signal_word(near: Near, epoch, side, column):
    """Address of the signal that a tile's part of the halo at a side has arrived."""
    return near.signals + 8 * (((epoch & 1) * 2 + side) * near.across + column)


def await_halo(ctx, band: Band, near: Near, epoch, top, left):
    """Wait for the part of the halo that a tile of an edge row reads: that of exchange ``epoch``, the one before."""
    for side in range(2):
        if top == (band.rows if side == BELOW else 1):
            word = signal_word(near, epoch, side, left // COLUMNS)
            wait(ctx, word, epoch, near.down if side == BELOW else near.up)


def put_edge(ctx, band: Band, near: Near, epoch, top, left, right):
    """Put a tile of an edge row into the halos.  The halo below of the PE above is the row after its last one."""
    for side in range(2):
        if top == (1 if side == BELOW else band.rows):
            row, at = band.new + top * band.pitch, left * band.item
            halo = band.new + (near.taller + 1) * band.pitch if side == BELOW else band.new
            word, pe = signal_word(near, epoch, side, left // COLUMNS), near.up if side == BELOW else near.down
            put_signal(ctx, Message(halo + at, row + at, (right - left) * band.item, pe), word, epoch)


def all_arrived(ctx, near: Near, state: Words):
    """After a loop on the device, by one block: wait for the last exchange.  state: the loop's words"""
    fence(ctx)
    loop = loop_at(state)
    epoch = read_epoch(loop.epoch, 0) + read_epoch(loop.ran, 0)
    for column in range(near.across):
        wait(ctx, signal_word(near, epoch, ABOVE, column), epoch, near.up)
        wait(ctx, signal_word(near, epoch, BELOW, column), epoch, near.down)
