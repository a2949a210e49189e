"""What the solver's kernels are told, as records; see ``pennympi/kernels/records.py`` for the library's own.

A launch passes their fields as plain numbers, and the compiler takes the records apart again, so that they cost nothing.
Fields are int64.  An address is that of this PE's memory.
"""

from typing import NamedTuple


class FieldPair(NamedTuple):
    """The field that a sweep reads and the one that it writes.

    new, old:    addresses of their rows 0
    nx:          columns;  pitch_bytes: from a row to the next, a multiple of 128
    """

    new: int
    old: int
    nx: int
    pitch_bytes: int


class Rows(NamedTuple):
    """Of the rows first_row..stop_row, chunk_rows from every stride_rows'th row on."""

    first_row: int
    stop_row: int
    stride_rows: int
    chunk_rows: int


class Pass(NamedTuple):
    """n_sweeps sweeps in one pass over memory.

    n_summed: for how many of them, the last ones, the squared changes are summed
    words:    address of the words that they are added to, see ``exact_sum.py``
    scratch:  on a CPU, address of ``march_host.scratch_bytes`` bytes
    """

    n_sweeps: int
    n_summed: int
    words: int
    scratch: int


class Neighbours(NamedTuple):
    """The PEs above and below this one on the ring, and the words by which halos are announced.

    top, bottom: their numbers;  rows_above: rows of PE ``top``'s slab
    arrivals:    address of (2 parities, 2 sides, across) signal words, side 0 for what comes from above and side 1 for
                 what comes from below: the last epoch whose halo has arrived
    epochs:      address of words of this PE, one for each block that exchanges: its last finished epoch
    """

    top: int
    bottom: int
    rows_above: int
    arrivals: int
    epochs: int


class Pieces(NamedTuple):
    """How a launch that exchanges cuts this PE's slab: one block for each piece of the edge rows, others for the rest.

    rows, depth: rows of the slab, and of a halo
    sides:       2 (the first ``depth`` rows, and the last), or 1 where the slab is too low for two (all rows)
    across:      pieces of a side, each of piece_bytes of a row
    inner_blocks: blocks for the rows between, in chunks of chunk_rows rows
    """

    rows: int
    depth: int
    sides: int
    across: int
    piece_bytes: int
    inner_blocks: int
    chunk_rows: int
