"""The tiles of a sweep, and the exchange of the edge rows by those that have them.

Two fields are enough.  In sweep k a tile's block writes a part of a neighbour's halo, in the field that the neighbour
last read in its sweep k-1.  It does so only after it has seen that neighbour's signal of sweep k-1, which the block that
reads this part sends after it has read it.  The row that was sent in sweep k is overwritten in sweep k+2, after a signal
of sweep k+1, which the neighbour sends after row k has arrived.  Signals count exchanges and are never reset.  There is
one for each side, since both neighbours may be the same PE.  Each has two words, for odd and for even exchanges, as those
of two may be under way, and overtake one another.
"""

from typing import NamedTuple

from pennympi.kernels.block import put_signal, wait

HIGH, COLUMNS = 16, 1024  # of a tile
ABOVE, BELOW = 0, 1  # sides


class Band(NamedTuple):
    """Which rows of two fields a launch sweeps.

    new, old:  addresses of the fields: nx columns, of which column 1 lies on a multiple of VECTOR_BYTES
    rows:  of this PE, which are rows 1..rows;  high: of a tile
    edges: of rows 1 and ``rows``, which may be one, how many are swept before the others, as tiles of their own
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
    """Whose halos get the edge rows.

    up, down: PEs above and below;  taller: rows of the PE above;  across: tiles of a row
    signals:  (2 parities, 2 sides, across) words; 0: the kernel exchanges nothing
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
    """A tile: its first row and the one after the last; so the columns, without those that are fixed.

    The edge rows come first, since neighbours wait for them.
    """
    across = tiles_across(band.nx)
    row, left = number // across, 1 + number % across * COLUMNS
    top = 1 + row * (band.rows - 1) if row < band.edges else 2 + (row - band.edges) * band.high
    stop = top + 1 if row < band.edges else min(top + band.high, band.rows)
    return top, stop, left, min(left + COLUMNS, band.nx - 1)


def signal_word(near: Near, epoch, side, column):
    """Address of the word that says that a tile's part of the halo at a side has come."""
    return near.signals + 8 * (((epoch & 1) * 2 + side) * near.across + column)


def await_halo(ctx, band: Band, near: Near, epoch, top, left):
    """Wait for what a tile of an edge row reads of the halo: it came in the exchange before, ``epoch``."""
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
            put_signal(ctx, halo + at, row + at, (right - left) * band.item, word, epoch, pe)
