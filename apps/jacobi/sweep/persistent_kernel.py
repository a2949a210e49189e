"""A kernel that does the whole time loop: its blocks keep their tiles, and wait for the blocks around them alone."""

from typing import NamedTuple

from pennympi.kernels.block import block, put_signal, read_epoch, signal, sync, wait, write_epoch

from .exchanging_kernel import ABOVE, BELOW, WORD_BYTES, side_words
from .kernels import march, summed_march
from .records import FieldPair, Loop, Neighbours, Pass, Rows, Tiles


class Tile(NamedTuple):
    """The tile of a block: column x and row y of the slab's tiles.  epoch: the last one that the block has finished"""

    x: int
    y: int
    epoch: int


def persistent_sweeps(ctx, fields: FieldPair, loop: Loop, tiles: Tiles, neighbours: Neighbours):
    """The whole loop in one kernel: every block keeps its rows and columns, and waits for those around it alone.

    All across * down blocks must run at the same time.  After each sweep a block says so to the blocks above, below and
    beside it; at the slab's edges it puts its row into the neighbour's halo with a signal instead.  A block that has
    seen sweep k of its neighbours may overwrite what they read in it.  The kernel ends when the halos of its last sweep
    have arrived: then the field may be copied, halos included, and a launch may go on from the copy.
    """
    b = block()
    x, y = b % tiles.across, b // tiles.across
    start = 1 + y * tiles.chunk_rows
    height = min(start + tiles.chunk_rows, tiles.rows + 1) - start
    rows = Rows(start, start + height, height, height)
    before = read_epoch(neighbours.epochs, b)
    for k in range(1, loop.sweeps + 1):
        tile = Tile(x, y, before + k - 1)
        await_blocks_around(ctx, tiles, neighbours, tile)
        if loop.first_due > 0 and k >= loop.first_due and (k - loop.first_due) % loop.every == 0:
            words = loop.words + (k - loop.first_due) // loop.every * loop.words_bytes
            summed_march(x, fields, rows, Pass(1, 1, words, loop.scratch))
        else:
            march(x, fields, rows, Pass(1, 0, loop.words, loop.scratch))
        sync()
        send_halos(ctx, fields, tiles, neighbours, tile)
        signal(ctx, tiles.done + WORD_BYTES * b, tile.epoch + 1, tiles.me)
        fields = FieldPair(fields.old, fields.new, fields.nx, fields.pitch_bytes)
    await_halos(ctx, tiles, neighbours, Tile(x, y, before + loop.sweeps))
    write_epoch(neighbours.epochs, b, before + loop.sweeps)


def await_halos(ctx, tiles: Tiles, neighbours: Neighbours, tile: Tile):
    """At the slab's edges, wait for the halo of the tile's epoch."""
    own = WORD_BYTES * tile.x
    if tile.y == 0:
        words = side_words(neighbours, ABOVE, tiles.across, tile.epoch)
        wait(ctx, words + own, tile.epoch, neighbours.top)
    if tile.y == tiles.down - 1:
        words = side_words(neighbours, BELOW, tiles.across, tile.epoch)
        wait(ctx, words + own, tile.epoch, neighbours.bottom)


def await_blocks_around(ctx, tiles: Tiles, neighbours: Neighbours, tile: Tile):
    """Wait until the blocks around this one, and the PEs beyond the slab's edges, have finished the tile's epoch."""
    await_halos(ctx, tiles, neighbours, tile)
    own = tiles.done + WORD_BYTES * (tile.y * tiles.across + tile.x)
    if tile.y > 0:
        wait(ctx, own - WORD_BYTES * tiles.across, tile.epoch, tiles.me)
    if tile.y < tiles.down - 1:
        wait(ctx, own + WORD_BYTES * tiles.across, tile.epoch, tiles.me)
    if tile.x > 0:
        wait(ctx, own - WORD_BYTES, tile.epoch, tiles.me)
    if tile.x < tiles.across - 1:
        wait(ctx, own + WORD_BYTES, tile.epoch, tiles.me)


def send_halos(ctx, fields: FieldPair, tiles: Tiles, neighbours: Neighbours, tile: Tile):
    """At the slab's edges, put the tile's part of the new row into the neighbour's halo, and signal the next epoch."""
    low, row_bytes, epoch = tile.x * tiles.piece_bytes, fields.pitch_bytes, tile.epoch + 1
    nbytes = min(tiles.piece_bytes, row_bytes - low)
    if tile.y == 0:
        halo = fields.new + (neighbours.rows_above + 1) * row_bytes + low
        word = side_words(neighbours, BELOW, tiles.across, epoch) + WORD_BYTES * tile.x  # as the receiver sees it
        put_signal(ctx, halo, fields.new + row_bytes + low, nbytes, word, epoch, neighbours.top)
    if tile.y == tiles.down - 1:
        row = fields.new + tiles.rows * row_bytes + low
        word = side_words(neighbours, ABOVE, tiles.across, epoch) + WORD_BYTES * tile.x
        put_signal(ctx, fields.new + low, row, nbytes, word, epoch, neighbours.bottom)
