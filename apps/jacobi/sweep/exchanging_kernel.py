"""A kernel that sweeps all rows of a PE and exchanges the halos with both neighbours meanwhile."""

from typing import NamedTuple

from pennympi.kernels.block import block, blocks, fence, put, put_signal, read_epoch, sync, wait, write_epoch

from .kernels import march
from .records import FieldPair, Neighbours, Pass, Pieces, Rows

WORD_BYTES = 8
ABOVE, BELOW = 0, 1  # sides from which a halo comes


class EdgePiece(NamedTuple):
    """A piece of the edge rows: number ``at`` of ``across`` on its side.  epoch: the last that its block has finished"""

    at: int
    across: int
    epoch: int


class RowPut(NamedTuple):
    """n_rows rows of nbytes each, pitch_bytes apart, to put from src to dst."""

    dst: int
    src: int
    nbytes: int
    n_rows: int
    pitch_bytes: int


def exchanging_sweeps(ctx, fields: FieldPair, work: Pass, pieces: Pieces, neighbours: Neighbours):
    """``march``, and the exchange with both neighbours inside it.

    The first blocks sweep the edge rows, a piece of columns each, put their new rows into the neighbours' halos, and
    signal; the others sweep the rows between meanwhile.  Only the edge blocks wait, for the halo that came with the
    sweeps before: for the pieces at their own columns and at those beside.
    """
    depth, across = pieces.depth, pieces.across
    n_pieces = pieces.sides * across
    for b in range(block(), n_pieces + pieces.inner_blocks, blocks()):
        at, start, stop, height, epoch = b - n_pieces, 2 * depth, pieces.rows, pieces.chunk_rows, 0
        upper, lower = b < across, n_pieces - across <= b < n_pieces
        if b < n_pieces:
            at, start = b % across, depth if upper else pieces.rows
            stop = depth + pieces.rows if lower else 2 * depth
            height, epoch = stop - start, read_epoch(neighbours.epochs, b)
        piece = EdgePiece(at, across, epoch)
        if upper:
            await_pieces(ctx, side_words(neighbours, ABOVE, across, epoch), piece, neighbours.top)
        if lower:
            await_pieces(ctx, side_words(neighbours, BELOW, across, epoch), piece, neighbours.bottom)
        march(at, fields, Rows(start, stop, height, height), work)
        if b < n_pieces:
            sync()
            if upper:
                send_up(ctx, fields, pieces, neighbours, piece)
            if lower:
                send_down(ctx, fields, pieces, neighbours, piece)
            write_epoch(neighbours.epochs, b, epoch + 1)


def side_words(neighbours: Neighbours, side, across, epoch):
    """Address of the (across,) signal words of a side for an epoch.

    A PE that announced epoch e had received e-1 from all who send to it.  So when it is sent e+1, no message but that of
    e can be under way, which has the words of the other parity.
    """
    return neighbours.arrivals + WORD_BYTES * across * (2 * (epoch & 1) + side)


def await_pieces(ctx, words, piece: EdgePiece, source):
    """Wait until the halo has arrived at a piece's columns and at those beside.  words: those of the side"""
    for one in range(max(piece.at - 1, 0), min(piece.at + 2, piece.across)):
        wait(ctx, words + WORD_BYTES * one, piece.epoch, source)


def send_up(ctx, fields: FieldPair, pieces: Pieces, neighbours: Neighbours, piece: EdgePiece):
    """Put a piece of the first rows into the lower halo of PE ``top``, and signal."""
    low, epoch = piece.at * pieces.piece_bytes, piece.epoch + 1
    halo = fields.new + (neighbours.rows_above + pieces.depth) * fields.pitch_bytes + low
    rows = fields.new + pieces.depth * fields.pitch_bytes + low
    nbytes = min(pieces.piece_bytes, fields.pitch_bytes - low)
    word = side_words(neighbours, BELOW, pieces.across, epoch) + WORD_BYTES * piece.at  # as the receiver sees it
    put_rows(ctx, RowPut(halo, rows, nbytes, pieces.depth, fields.pitch_bytes), word, epoch, neighbours.top)


def send_down(ctx, fields: FieldPair, pieces: Pieces, neighbours: Neighbours, piece: EdgePiece):
    """Put a piece of the last rows into the upper halo of PE ``bottom``, and signal."""
    low, epoch = piece.at * pieces.piece_bytes, piece.epoch + 1
    halo, rows = fields.new + low, fields.new + pieces.rows * fields.pitch_bytes + low
    nbytes = min(pieces.piece_bytes, fields.pitch_bytes - low)
    word = side_words(neighbours, ABOVE, pieces.across, epoch) + WORD_BYTES * piece.at
    put_rows(ctx, RowPut(halo, rows, nbytes, pieces.depth, fields.pitch_bytes), word, epoch, neighbours.bottom)


def put_rows(ctx, rows: RowPut, word, value, pe):
    """Put the rows to PE ``pe``, and then signal: its ``word`` = ``value``."""
    for row in range(rows.n_rows - 1):
        put(ctx, rows.dst + row * rows.pitch_bytes, rows.src + row * rows.pitch_bytes, rows.nbytes, pe)
    if rows.n_rows > 1:
        fence(ctx)
    last = (rows.n_rows - 1) * rows.pitch_bytes
    put_signal(ctx, rows.dst + last, rows.src + last, rows.nbytes, word, value, pe)
