"""How passes of one and two dimensions are cut into chunks for the device."""

from collections.abc import Callable

from ....compile.options import LaunchBounds
from ....compile.pass_kernel import Storage
from ....compile.unroll import Static
from ....kernels.sweep.formula import Stencil
from ....kernels.sweep.norm import MAX_GROUPS
from ....kernels.sweep.records import Box, Cut
from ..warp.warp import LANES
from .rows import March, first_column

WARPS = 4  # of a block
THREADS = 32 * WARPS
ROWS_AT_A_TIME = 3  # of the march's loop
# Blocks that a multiprocessor holds at a time, by the sweeps of a pass: registers allow no more.
RESIDENT = {1: 5, 2: 4, 3: 3, 4: 3, 5: 2, 6: 2, 7: 2, 8: 2}
RESIDENT_1D = {"none": 8, "last": 8, "every": 4}  # of one dimension, by the norms
RESIDENT_WITH_COEFFICIENT = RESIDENT | {4: 2}
# The deepest pass of two dimensions over a field of coefficients: deeper ones spill registers, and take longer a sweep.
DEEPEST_WITH_COEFFICIENT = 6
# The highest chunk, in rows, by the sweeps of a pass, as measured on an H200: the warps of higher ones read from places
# too far apart.  Longer passes have no limit: they share more rows with the chunk above.
HIGHEST_CHUNK = {1: 48, 2: 96}
# How many rows ahead of its loads a warp prefetches into the L2 cache, by the sweeps of a pass, as measured on an H200.
# The warps of a long pass are too few for their loads to hide the latency of memory; those of a short one are many, and
# lines that they prefetch early are evicted before they are loaded.
PREFETCH_ROWS = {1: 0, 2: 2, 4: 2}
MAX_PREFETCH_ROWS = 3  # for all other numbers of sweeps
# Blocks by which a launch stays below what the device holds, so that a collective finds room beside it.
SPARE_BLOCKS = 2
START_ROWS = 4.0  # what it costs a chunk to begin, in rows, about
WAVES = 8  # how many numbers of waves ``chunk_rows`` tries


def prefetch_rows(depth: int) -> Static[int]:
    """How many rows ahead of its loads a warp of a pass prefetches."""
    return PREFETCH_ROWS.get(depth, MAX_PREFETCH_ROWS)


def most_sweeps(stencil: Stencil) -> int:
    """Sweeps of a pass at most."""
    return DEEPEST_WITH_COEFFICIENT if stencil.n_dims == 2 and stencil.has_coefficient else max(RESIDENT)


def bounds(march: March) -> LaunchBounds:
    """Those of a pass."""
    resident = RESIDENT_WITH_COEFFICIENT if march.stencil.has_coefficient else RESIDENT
    return LaunchBounds(THREADS, resident[march.depth] if march.stencil.n_dims == 2 else RESIDENT_1D[march.norms])


def launch(march: March) -> Callable[[Box, Storage], tuple[int, int, Cut]]:
    """See ``PassKernel``.  The cut's chunk: rows of a warp; of one dimension, how often a warp goes on along the row."""
    resident = bounds(march).min_blocks

    def cut(box: Box, storage: Storage) -> tuple[int, int, Cut]:
        across = -(-(box.z1 - first_column(march.width, box, storage.lead)) // march.keeps)
        warps = WARPS * max(1, storage.processors * resident - SPARE_BLOCKS)
        if march.stencil.n_dims == 2:
            rows = box.y1 - box.y0
            chunk = chunk_rows(rows, across, warps, march.depth, MAX_GROUPS // LANES // 4)
            n_warps = across * -(-rows // chunk)
        else:
            chunk = -(-across // warps)
            n_warps = -(-across // chunk)
        return -(-n_warps // WARPS), THREADS, Cut(chunk, storage.lead)

    return cut


def chunk_rows(rows: int, across: int, warps: int, sweeps: int, most: int) -> int:
    """The height in rows of the chunks that take the least time.

    across: warps side by side;  warps: that the device runs at a time;  most: of rows, about
    A chunk costs its rows, as many again as there are sweeps (which it shares with the chunk above), and START_ROWS.  A
    wave of warps that does not fill the device costs as much as one that does.
    """
    highest = min(HIGHEST_CHUNK.get(sweeps, rows), most)  # rounding may more than double a chunk
    fewest = max(1, -(-rows * across // (highest * warps)))
    best = (float("inf"), rows)
    for waves in range(fewest, fewest + WAVES):
        chunks = max(1, waves * warps // across)
        chunk = ROWS_AT_A_TIME * -(-rows // (ROWS_AT_A_TIME * chunks))
        full = -(-across * -(-rows // chunk) // warps)
        best = min(best, (full * (chunk + sweeps + START_ROWS), chunk))
    return best[1]
