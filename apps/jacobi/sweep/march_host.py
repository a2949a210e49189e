"""``march`` on a CPU: T sweeps of a band of rows while they are in the cache.

Columns are cut into tiles, and the rows of a tile go through the T time levels as in ``march_cuda_source.py``; the
levels between the first and the last have three scratch rows each.  The new columns of a whole segment, and the sum of
their changes, are computed together (``march_host_vectors.py``).
"""

from collections.abc import Callable
from functools import cache
from types import FunctionType

from pennympi.kernels.block import load, real, store

from ..norm.add_exact import add_exact
from ..norm.exact_sum import EDGE_COLUMNS, LANE_BYTES, LANE_COLUMNS, LANES, WORDS_BYTES, segment_columns
from .march_host_vectors import fused, relax_segment_of

TILE_SEGMENTS = 16  # of a tile: its scratch rows fit into the second-level cache

# The functions below are compiled for one dtype: ``made`` puts that dtype's values in the place of these six names.
LANE = 0  # columns of a lane
FIRST_LANE = 0  # the lane of a segment's first column
ITEM_BYTES = 0
SEGMENT = 0  # columns of a segment
TILE = 0  # columns of a tile
SCRATCH_PITCH_BYTES = 0  # from one scratch row to the next


def relax_segment(new, above, row, below, at, nx):
    """Relax a whole segment that begins at column ``at``, and return the sum of its changes.

    The addresses are those of column ``at``.  ``made`` replaces this stub by an intrinsic for the dtype.
    """
    raise NotImplementedError("relax_segment() has a body for each dtype: use march_host.made()")


def scratch_bytes(sweeps: int, dtype: str) -> int:
    """Bytes that ``march`` needs at its address ``scratch`` for passes of up to ``sweeps`` sweeps."""
    return 3 * sweeps * _scratch_pitch_bytes(dtype)


def _scratch_pitch_bytes(dtype: str) -> int:
    return TILE_SEGMENTS * segment_columns(dtype) * (LANE_BYTES // LANE_COLUMNS[dtype]) + 4 * EDGE_COLUMNS * LANE_BYTES


# One row ------------------------------------------------------------------------------
# ``new`` is level s+1 of a row; ``above``, ``row`` and ``below`` are level s.  Addresses are those of column 0.


def relax(new, above, row, below, start, stop, nx):
    """Columns start..stop; the fixed ones stay.  The order of the additions is the sample's."""
    for x in range(max(start, 1), min(stop, nx - 1)):
        store(new, x, real(0.25) * (((load(row, x + 1) + load(row, x - 1)) + load(below, x)) + load(above, x)))
    if start == 0:
        store(new, 0, load(row, 0))
    if stop == nx:
        store(new, nx - 1, load(row, nx - 1))


def relax_and_sum(new, above, row, below, start, stop, nx, words, sums):
    """``relax``, and the changes to the words.  start: a segment's first column, stop: a segment's end or nx"""
    at = start
    while at + SEGMENT <= stop:
        offset = at * ITEM_BYTES
        total = relax_segment(new + offset, above + offset, row + offset, below + offset, at, nx)
        add_exact(words, 1.0 * total)
        at += SEGMENT
    if at < stop:
        relax(new, above, row, below, at, stop, nx)
        add_exact(words, 1.0 * short_sum(new, row, at, stop, sums))


def short_sum(new, row, start, stop, sums):
    """What the columns start..stop of a segment that ends early have changed.  sums: LANES elements of scratch"""
    for lane in range(LANES):
        x = start + (lane - FIRST_LANE) * LANE
        for k in range(LANE // 2):
            low = change(new, row, x + k, start, stop)
            high = change(new, row, x + k + LANE // 2, start, stop)
            store(sums, LANES + k, fused(high, high, low * low))
        if LANE == 8:
            add_pairs(sums, LANES, 2)
        add_pairs(sums, LANES, 1)
        store(sums, lane, load(sums, LANES))
    # One after the other: of a loop over these, unrolled, LLVM 20 makes additions that take values from before the last.
    add_pairs(sums, 0, 16)
    add_pairs(sums, 0, 8)
    add_pairs(sums, 0, 4)
    add_pairs(sums, 0, 2)
    add_pairs(sums, 0, 1)
    return load(sums, 0)


def change(new, row, x, start, stop):
    """What column x has changed, 0 outside start..stop."""
    return load(new, x) - load(row, x) if start <= x < stop else real(0.0)


def add_pairs(values, at, far):
    """Add ``far`` values to as many before them, from ``at`` on."""
    for k in range(at, at + far):
        store(values, k, load(values, k) + load(values, k + far))


# A band of rows -----------------------------------------------------------------------


def march(b, count, summed, new, old, first_row, stop_row, stride_rows, chunk_rows, nx, pitch_bytes, words, scratch):
    """See ``sweep.march``.  One block does it all."""
    row = first_row
    while row < stop_row and b == 0:
        stop = min(row + chunk_rows, stop_row)
        for left in range(0, nx, TILE):
            tile(count, summed, new, old, row, stop, left, min(left + TILE, nx), nx, pitch_bytes, words, scratch)
        row += stride_rows


def tile(count, summed, new, old, first_row, stop_row, left, right, nx, pitch_bytes, words, scratch):
    """Rows first_row..stop_row, columns left..right.  Level s needs one more row and column on each side than s+1."""
    sums = scratch
    levels = scratch + 2 * LANES * ITEM_BYTES + (EDGE_COLUMNS - left) * ITEM_BYTES
    for front in range(first_row - count + 1, stop_row + count - 1):
        for s in range(1, count + 1):
            row, more = front - (s - 1), count - s
            if first_row - more <= row < stop_row + more:
                above = level(count, new, old, levels, s - 1, row - 1, pitch_bytes)
                centre = level(count, new, old, levels, s - 1, row, pitch_bytes)
                below = level(count, new, old, levels, s - 1, row + 1, pitch_bytes)
                target = level(count, new, old, levels, s, row, pitch_bytes)
                if s > count - summed and first_row <= row < stop_row:
                    if left > 0:
                        relax(target, above, centre, below, left - more, left, nx)
                    into = words + (s - 1) * WORDS_BYTES
                    relax_and_sum(target, above, centre, below, left, right, nx, into, sums)
                    if right < nx:
                        relax(target, above, centre, below, right, min(right + more, nx), nx)
                else:
                    relax(target, above, centre, below, max(left - more, 0), min(right + more, nx), nx)


def level(count, new, old, levels, s, row, pitch_bytes):
    """Address of column 0 of a row at level s: of the tile's scratch between the first level and the last."""
    if s == 0:
        return old + row * pitch_bytes
    if s == count:
        return new + row * pitch_bytes
    return levels + (3 * (s - 1) + row % 3) * SCRATCH_PITCH_BYTES


@cache
def made(sweeps: int, norms: str, dtype: str, nx: int) -> Callable[..., None]:
    """``march`` for a dtype.  It serves any number of sweeps, all norms and all widths."""
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
