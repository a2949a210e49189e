"""The division of passes of one and two dimensions into chunks, and the launch of their blocks."""

from collections.abc import Callable

from ....compile.options import LaunchBounds
from ....compile.pass_kernel import PassLaunch, Storage
from ....compile.unroll import Static
from ....kernels.sweep.formula import Stencil
from ....kernels.sweep.norm import MAX_GROUPS
from ....kernels.sweep.records import Box, Cut
from ..chunks import cut_into_chunks
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
        across = -(-(box.z1 - first_column(march.width, box, storage.lead)) // march.keeps)
        warps = WARPS * max(1, storage.processors * resident - SPARE_BLOCKS)
        if march.stencil.n_dims == 1:
            chunk = -(-across // warps)
            blocks = -(-across // (chunk * WARPS))
            return PassLaunch(blocks, THREADS, Cut(chunk, storage.lead), blocks)
        rows, most = box.y1 - box.y0, MAX_GROUPS // LANES // 4
        chunk = chunk_rows(rows + WAIT_ROWS * (sides.y0 + sides.y1), across, warps, march.depth, most)
        wait = WAIT_ROWS if -(-rows // chunk) * across <= warps else None
        cut, n_waiting = cut_into_chunks(rows, chunk, storage.lead, march.depth, (sides.y0, sides.y1), wait)
        if sides.z0 or sides.z1:
            blocks = -(-cut.n_chunks * across // WARPS)
            return PassLaunch(blocks, THREADS, cut, blocks)
        others = (cut.n_chunks - n_waiting) * across
        if wait is None:
            blocks, first = -(-cut.n_chunks * across // WARPS), others // WARPS
            return PassLaunch(blocks, THREADS, cut, blocks - first, first)
        first = -(-n_waiting * across // WARPS)
        blocks = first - others // -WARPS
        return PassLaunch(blocks, THREADS, cut._replace(apart=n_waiting), first, at_a_time=blocks * WARPS <= warps)

    return launch


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
