"""``march`` on a CPU: T sweeps of a band of rows while they are in the cache.

Columns are cut into tiles, and the rows of a tile go through the T time levels as in ``march_cuda_source.py``; the
levels between the first and the last have three scratch rows each.  The new columns of a whole segment, and the sum of
their changes, are computed together (``march_host_vectors.py``).
"""

from collections.abc import Callable
from functools import cache
from types import FunctionType
from typing import NamedTuple

from pennympi.kernels.block import load, real, store

from ..norm.add_exact import add_exact
from ..norm.exact_sum import EDGE_COLUMNS, LANE_BYTES, LANE_COLUMNS, LANES, WORDS_BYTES, segment_columns
from .march_host_vectors import fused, relax_segment_of
from .records import FieldPair, Pass, Rows

TILE_SEGMENTS = 16  # of a tile: its scratch rows fit into the second-level cache

# The functions below are compiled for one dtype: ``made`` puts that dtype's values in the place of these six names.
LANE = 0  # columns of a lane
FIRST_LANE = 0  # the lane of a segment's first column
ITEM_BYTES = 0
SEGMENT = 0  # columns of a segment
TILE = 0  # columns of a tile
SCRATCH_PITCH_BYTES = 0  # from one scratch row to the next


class Stencil(NamedTuple):
    """Addresses of the same column of a row at one level (new), and of three rows at the level before."""

    new: int
    above: int
    row: int
    below: int


class Columns(NamedTuple):
    """Columns start..stop of nx."""

    start: int
    stop: int
    nx: int


def relax_segment(rows: Stencil, at, nx):
    """Relax a whole segment that begins at column ``at``, and return the sum of its squared changes.

    rows: of column ``at``.  ``made`` replaces this stub by an intrinsic for the dtype.
    """
    raise NotImplementedError("relax_segment() has a body for each dtype: use march_host.made()")


def scratch_bytes(sweeps: int, dtype: str) -> int:
    """Bytes that ``march`` needs at its address ``scratch`` for passes of up to ``sweeps`` sweeps."""
    return 3 * sweeps * _scratch_pitch_bytes(dtype)


def _scratch_pitch_bytes(dtype: str) -> int:
    return TILE_SEGMENTS * segment_columns(dtype) * (LANE_BYTES // LANE_COLUMNS[dtype]) + 4 * EDGE_COLUMNS * LANE_BYTES


# One row: the addresses are those of column 0 -------------------------------------------


def relax(rows: Stencil, columns: Columns):
    """Relax some columns of a row; the fixed columns stay.  The order of the additions is that of NVIDIA's sample."""
    new, above, row, below = rows
    start, stop, nx = columns
    for x in range(max(start, 1), min(stop, nx - 1)):
        store(new, x, real(0.25) * (((load(row, x + 1) + load(row, x - 1)) + load(below, x)) + load(above, x)))
    if start == 0:
        store(new, 0, load(row, 0))
    if stop == nx:
        store(new, nx - 1, load(row, nx - 1))


def relax_and_sum(rows: Stencil, columns: Columns, words, sums):
    """``relax``, with the sums of the squared changes added to the words.

    columns: from a segment's first column to a segment's end or nx;  sums: scratch of 2 * LANES elements
    """
    new, above, row, below = rows
    start, stop, nx = columns
    at = start
    while at + SEGMENT <= stop:
        offset = at * ITEM_BYTES
        total = relax_segment(Stencil(new + offset, above + offset, row + offset, below + offset), at, nx)
        add_exact(words, 1.0 * total)
        at += SEGMENT
    if at < stop:
        relax(rows, Columns(at, stop, nx))
        add_exact(words, 1.0 * short_sum(rows, Columns(at, stop, nx), sums))


def short_sum(rows: Stencil, columns: Columns, sums):
    """The sum of the squared changes of a segment that ends early.  sums: scratch of 2 * LANES elements"""
    for lane in range(LANES):
        x = columns.start + (lane - FIRST_LANE) * LANE
        for k in range(LANE // 2):
            low = change(rows, x + k, columns)
            high = change(rows, x + k + LANE // 2, columns)
            store(sums, LANES + k, fused(high, high, low * low))
        if LANE == 8:
            add_pairs(sums, LANES, 2)
        add_pairs(sums, LANES, 1)
        store(sums, lane, load(sums, LANES))
    # No loop over these: LLVM 20 unrolls it, and moves additions before the stores of the values that they add.
    add_pairs(sums, 0, 16)
    add_pairs(sums, 0, 8)
    add_pairs(sums, 0, 4)
    add_pairs(sums, 0, 2)
    add_pairs(sums, 0, 1)
    return load(sums, 0)


def change(rows: Stencil, x, columns: Columns):
    """The change of column x, or 0 outside the columns."""
    return load(rows.new, x) - load(rows.row, x) if columns.start <= x < columns.stop else real(0.0)


def add_pairs(values, at, far):
    """Add to each of ``far`` values from ``at`` on the value that is ``far`` places behind it."""
    for k in range(at, at + far):
        store(values, k, load(values, k) + load(values, k + far))


# A band of rows -----------------------------------------------------------------------


def march(b, fields: FieldPair, band: Rows, work: Pass):
    """See ``kernels.march``.  Block 0 does all of it."""
    row = band.first_row
    while row < band.stop_row and b == 0:
        stop = min(row + band.chunk_rows, band.stop_row)
        for left in range(0, fields.nx, TILE):
            tile(fields, row, stop, Columns(left, min(left + TILE, fields.nx), fields.nx), work)
        row += band.stride_rows


def tile(fields: FieldPair, first_row, stop_row, columns: Columns, work: Pass):
    """Sweep some rows and columns.  Level s needs one more row and one more column on each side than level s+1."""
    left, right, nx = columns
    count = work.n_sweeps
    sums = work.scratch
    levels = work.scratch + 2 * LANES * ITEM_BYTES + (EDGE_COLUMNS - left) * ITEM_BYTES
    for front in range(first_row - count + 1, stop_row + count - 1):
        for s in range(1, count + 1):
            row, more = front - (s - 1), count - s
            if first_row - more <= row < stop_row + more:
                above = level(fields, levels, count, s - 1, row - 1)
                centre = level(fields, levels, count, s - 1, row)
                below = level(fields, levels, count, s - 1, row + 1)
                rows = Stencil(level(fields, levels, count, s, row), above, centre, below)
                if s > count - work.n_summed and first_row <= row < stop_row:
                    if left > 0:
                        relax(rows, Columns(left - more, left, nx))
                    relax_and_sum(rows, columns, work.words + (s - 1) * WORDS_BYTES, sums)
                    if right < nx:
                        relax(rows, Columns(right, min(right + more, nx), nx))
                else:
                    relax(rows, Columns(max(left - more, 0), min(right + more, nx), nx))


def level(fields: FieldPair, levels, count, s, row):
    """Address of column 0 of a row at level s: in the tile's scratch ``levels``, but for the first and the last level."""
    if s == 0:
        return fields.old + row * fields.pitch_bytes
    if s == count:
        return fields.new + row * fields.pitch_bytes
    return levels + (3 * (s - 1) + row % 3) * SCRATCH_PITCH_BYTES


@cache
def made(sweeps: int, norms: str, dtype: str, nx: int) -> Callable[..., None]:
    """``march`` for a dtype: one machine code for any number of sweeps, all norms and all widths."""
    del sweeps, norms, nx
    scope = {
        **globals(),
        "LANE": LANE_COLUMNS[dtype],
        "FIRST_LANE": EDGE_COLUMNS // LANE_COLUMNS[dtype],
        "ITEM_BYTES": LANE_BYTES // LANE_COLUMNS[dtype],
        "SEGMENT": segment_columns(dtype),
        "TILE": TILE_SEGMENTS * segment_columns(dtype),
        "SCRATCH_PITCH_BYTES": _scratch_pitch_bytes(dtype),
        "relax_segment": relax_segment_of(dtype),
    }
    for function in (relax, change, add_pairs, short_sum, relax_and_sum, level, tile, march):
        clone = FunctionType(function.__code__, scope, function.__name__)
        clone.__module__ = __name__
        scope[function.__name__] = clone
    return scope["march"]
