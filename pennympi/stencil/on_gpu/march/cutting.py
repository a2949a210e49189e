"""The division of passes of one and two dimensions into chunks, and the launch of their blocks."""

from collections.abc import Callable

from ....compile.options import LaunchBounds
from ....compile.pass_kernel import PassLaunch, Storage
from ....compile.unroll import Static
from ....kernels.sweep.formula import Stencil
from ....kernels.sweep.norm import MAX_GROUPS
from ....kernels.sweep.records import Box, Cut
from ..chunks import chunk_at, cut_into_chunks
from ..warp.warp import LANES
from .rows import March, first_column

WARPS = 4  # warps of a block
THREADS = 32 * WARPS
ROWS_AT_A_TIME = 3  # rows of an iteration of ``march_rows``
# The most blocks of a multiprocessor that registers allow: in two dimensions by the sweeps of a pass, in one dimension
# by its norms.
RESIDENT = {1: 5, 2: 4, 3: 3, 4: 3, 5: 2, 6: 2, 7: 2, 8: 2}
RESIDENT_1D = {"none": 8, "last": 8, "every": 4}
RESIDENT_WITH_COEFFICIENT = RESIDENT | {4: 2}
# The most sweeps of a pass in two dimensions with coefficients: with more sweeps registers spill, and a sweep is slower.
MOST_SWEEPS_WITH_COEFFICIENT = 6
# The most rows of a chunk, by the sweeps of a pass, as measured on an H200: with more rows the warps read from places
# too far apart.  Longer passes have no limit: they share more rows with the chunk above.
MOST_CHUNK_ROWS = {1: 48, 2: 96}
# Number of rows ahead of its loads that a warp prefetches into the L2 cache, by the sweeps of a pass, as measured on an
# H200.  A long pass has too few warps to hide the latency of memory.  A short pass has many warps, and the L2 cache
# evicts lines that they prefetch early.
PREFETCH_ROWS = {1: 0, 2: 2, 4: 2}
MAX_PREFETCH_ROWS = 3  # for all other numbers of sweeps
SPARE_BLOCKS = 2  # number of blocks of a collective for which a launch leaves room
START_ROWS = 4.0  # approximate cost of the start of a chunk, in rows
WAIT_ROWS = 18  # approximate number of rows that a chunk computes in the time in which its halo arrives
WAVES = 8  # number of waves that ``chunk_rows`` tries


def prefetch_rows(depth: int) -> Static[int]:
    """Number of rows ahead of its loads that a warp prefetches."""
    return PREFETCH_ROWS.get(depth, MAX_PREFETCH_ROWS)


def most_sweeps(stencil: Stencil) -> int:
    """The most sweeps of a pass."""
    return MOST_SWEEPS_WITH_COEFFICIENT if stencil.n_dims == 2 and stencil.has_coefficient else max(RESIDENT)


def bounds(march: March) -> LaunchBounds:
    """The launch bounds of a pass."""
    resident = RESIDENT_WITH_COEFFICIENT if march.stencil.has_coefficient else RESIDENT
    return LaunchBounds(THREADS, resident[march.depth] if march.stencil.n_dims == 2 else RESIDENT_1D[march.norms])


def launch(march: March) -> Callable[[Box, Box, Storage], PassLaunch]:
    """See ``PassKernel``.  The cut's chunk: number of rows of a warp; in one dimension, number of a warp's steps."""
    resident = bounds(march).min_blocks

    def launch(box: Box, sides: Box, storage: Storage) -> PassLaunch:
        columns = box.z1 - first_column(march.width, box, storage.lead)
        across, warps = -(-columns // march.keeps), WARPS * max(1, storage.processors * resident - SPARE_BLOCKS)
        if march.stencil.n_dims == 1:
            chunk = -(-across // warps)
            blocks = blocks_of(-(-across // chunk))
            return PassLaunch(blocks, THREADS, Cut(chunk, storage.lead), blocks)
        rows, ends, most = box.y1 - box.y0, (sides.y0, sides.y1), MAX_GROUPS // LANES // 4
        left, right = warps_at_cut_columns(march, columns, (sides.z0, sides.z1))
        inner = across - left - right
        chunk = chunk_rows(rows + WAIT_ROWS * sum(ends), across, warps, march.depth, most)
        if -(-rows // chunk) * across > warps:
            cut, n_waiting = cut_into_chunks(rows, chunk, storage.lead, march.depth, ends)
            return launch_in_turns(cut._replace(left=left, right=right, edge_chunk=chunk), rows, inner, n_waiting)
        # Longer chunks are fewer warps, which leaves warps for more and shorter chunks at cut columns.
        for own in range(chunk, chunk + WAIT_ROWS + 1, ROWS_AT_A_TIME):
            cut, n_waiting = cut_into_chunks(rows, own, storage.lead, march.depth, ends, WAIT_ROWS)
            cut = cut._replace(left=left, right=right, edge_chunk=max(ROWS_AT_A_TIME, own - WAIT_ROWS))
            planned = launch_at_a_time(cut, rows, inner, n_waiting, warps)
            if planned.at_a_time:
                break
        return planned

    return launch


def warps_at_cut_columns(march: March, columns: int, sides: tuple[int, int]) -> tuple[int, int]:
    """The number of warps side by side that read a halo before the first column, and that read one after the last column.

    columns: number of columns from the first warp's first column on
    sides:   1 where the halo before, or after, comes from a neighbour, else 0
    If all warps read a halo, all are counted as the former.
    """
    across = -(-columns // march.keeps)
    left = sides[0]  # a warp keeps more than ``edge`` columns, so only the first one reads beyond the first column
    right = sides[1] * (across - (columns - march.edge) // march.keeps)
    return (left, right) if left + right < across else (across, 0)


def launch_in_turns(cut: Cut, rows: int, inner: int, n_waiting: int) -> PassLaunch:
    """The launch in which the last blocks wait: those of the last ``n_waiting`` chunks, and those at cut columns.

    inner: number of warps side by side that read no halo of columns
    """
    first = (cut.n_chunks - n_waiting) * inner // WARPS
    blocks = blocks_of(cut.n_chunks * inner) + blocks_at_cut_columns(cut, rows)
    return PassLaunch(blocks, THREADS, cut._replace(apart=cut.n_chunks), blocks - first, first)


def launch_at_a_time(cut: Cut, rows: int, inner: int, n_waiting: int, warps: int) -> PassLaunch:
    """The launch in which the first blocks wait: those of the first ``n_waiting`` chunks, and those at cut columns.

    inner: number of warps side by side that read no halo of columns
    warps: number of warps that the device runs at a time
    """
    waiting = blocks_of(n_waiting * inner) + blocks_at_cut_columns(cut, rows)
    blocks = waiting + blocks_of((cut.n_chunks - n_waiting) * inner)
    return PassLaunch(blocks, THREADS, cut._replace(apart=n_waiting), waiting, at_a_time=blocks * WARPS <= warps)


def blocks_at_cut_columns(cut: Cut, rows: int) -> int:
    """Number of blocks of the warps that read a halo of columns."""
    return blocks_of((cut.left + cut.right) * -(-rows // cut.edge_chunk))


def blocks_of(warps: int) -> int:
    """Number of blocks of so many warps."""
    return -(-warps // WARPS)


def part_of_warp(cut: Cut, box: Box, across, number):
    """(place, first row, number of rows) of the part of a warp; no rows: the warp has no part.

    across: number of warps side by side;  place: index among them
    The warps of the first ``cut.apart`` chunks come first, then those at cut columns, then those of the other chunks.
    All three begin with a block.
    """
    edges, rows = cut.left + cut.right, box.y1 - box.y0
    inner, n_edge = across - edges, edges * ((rows + cut.edge_chunk - 1) // cut.edge_chunk)
    apart = cut.apart * inner
    if number >= apart:
        number -= apart + (-apart & (WARPS - 1))
        if number >= 0 and number < n_edge:
            place, begin = number % edges, number // edges * cut.edge_chunk
            if place >= cut.left:
                place += inner
            return place, box.y0 + begin, min(cut.edge_chunk, rows - begin)
        number += apart - n_edge - (-n_edge & (WARPS - 1))
        if number < apart:
            return 0, 0, 0
    chunk = number // inner
    if chunk >= cut.n_chunks:
        return 0, 0, 0
    own, n_own = chunk_at(cut, box.y0, box.y1, chunk)
    return cut.left + number % inner, own, n_own


def chunk_rows(rows: int, across: int, warps: int, sweeps: int, most: int) -> int:
    """The number of rows of the chunks that take the least time.

    across: number of warps side by side;  warps: number of warps that the device runs at a time
    most:   the most rows of a chunk, about
    The cost of a chunk is the number of its rows, plus a row for each sweep, which it shares with the chunk above, plus
    START_ROWS.  A wave of warps that does not fill the device costs as much as a full wave.
    """
    limit = min(MOST_CHUNK_ROWS.get(sweeps, rows), most)  # rounding may more than double a chunk
    fewest = max(1, -(-rows * across // (limit * warps)))
    best = (float("inf"), rows)
    for waves in range(fewest, fewest + WAVES):
        chunks = max(1, waves * warps // across)
        chunk = ROWS_AT_A_TIME * -(-rows // (ROWS_AT_A_TIME * chunks))
        full = -(-across * -(-rows // chunk) // warps)
        best = min(best, (full * (chunk + sweeps + START_ROWS), chunk))
    return best[1]
