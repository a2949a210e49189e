"""Which rows a launch sweeps, and how they are cut for the device."""

from dataclasses import dataclass
from typing import Any

from ..grid.device import multiprocessors
from ..grid.problem import Problem
from ..norm.exact_sum import MOST_CHUNK_ROWS, segment

WARPS = 4  # of a block
THREADS = 32 * WARPS
# Blocks that a multiprocessor holds of a kernel that does so many sweeps a pass: what its registers leave room for.
RESIDENT = {1: 5, 2: 4, 4: 3, 6: 2, 8: 2}
# Rows of a chunk at most: higher ones are read from places too far apart, as measured on an H200.  A chunk of more sweeps
# has more rows to share with the chunk above, and is as high as it can be.
MOST_ROWS = {1: 48, 2: 96}
# Blocks that a launch leaves out, so that a norm's AllReduce finds room beside it.
LEFT_FREE = 2


@dataclass(frozen=True)
class Band:
    """Rows first_row..stop_row, of which chunk_rows from every stride_rows'th on; see ``sweep.march``.

    blocks: of the launch
    """

    first_row: int
    stop_row: int
    stride_rows: int
    chunk_rows: int
    blocks: int

    @property
    def rows(self) -> tuple[int, int, int, int]:
        """What a kernel is given of it."""
        return self.first_row, self.stop_row, self.stride_rows, self.chunk_rows


def blocks_across(team: Any, problem: Problem) -> int:
    """Blocks that cover all columns of a chunk of rows."""
    if team.backend != "cuda":
        return 1
    return -(-problem.nx // (WARPS * segment(problem.dtype)))


def capacity(team: Any, sweeps: int) -> int:
    """Blocks of a kernel with so many sweeps a pass that the device runs at a time."""
    return multiprocessors(team) * RESIDENT[sweeps] - LEFT_FREE if team.backend == "cuda" else 1


def inner(team: Any, problem: Problem, first_row: int, stop_row: int, sweeps: int) -> Band:
    """All of the rows, in chunks of equal height that fill the device a whole number of times."""
    rows = stop_row - first_row
    if team.backend != "cuda":
        return Band(first_row, stop_row, rows, rows, 1)
    chunk = chunk_rows(rows, -(-problem.nx // segment(problem.dtype)), WARPS * capacity(team, sweeps), sweeps)
    warps = -(-problem.nx // segment(problem.dtype)) * -(-rows // chunk)
    return Band(first_row, stop_row, chunk, chunk, -(-warps // WARPS))


def edges(team: Any, problem: Problem, rows: int, depth: int) -> Band:
    """The first and the last ``depth`` of so many rows (that begin at row ``depth``); all of them if they would touch."""
    if rows <= 2 * depth:
        return Band(depth, depth + rows, rows, rows, blocks_across(team, problem))
    return Band(depth, depth + rows, rows - depth, depth, 2 * blocks_across(team, problem))


def chunk_rows(rows: int, strips: int, warps: int, sweeps: int) -> int:
    """The height of a chunk that takes the least time.

    strips: warps side by side;  warps: that run at a time.  A chunk costs its rows, as many again as there are sweeps
    (which it shares with the chunk above), and about as many to get going; a wave of warps that is not full, as much as
    a full one.  A multiple of 3, which is what the march does at a time.
    """
    max_sweeps = min(MOST_ROWS.get(sweeps, rows), MOST_CHUNK_ROWS // 4)  # whole chunks may be more than twice as high
    fewest = max(1, -(-rows * strips // (max_sweeps * warps)))
    best = (float("inf"), rows)
    for waves in range(fewest, fewest + 8):
        chunks = max(1, waves * warps // strips)
        chunk = 3 * -(-rows // (3 * chunks))
        full = -(-strips * -(-rows // chunk) // warps)
        best = min(best, (full * (chunk + sweeps + 4.0), chunk))
    return best[1]
