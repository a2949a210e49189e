"""Which rows a launch sweeps, and how they are cut into chunks for the device."""

from dataclasses import dataclass
from typing import Any

from ...program.device import multiprocessors
from ..grid.problem import Problem
from ..norm.exact_sum import MAX_CHUNK_ROWS, segment_columns
from .records import Rows

WARPS_PER_BLOCK = 4
THREADS_PER_BLOCK = 32 * WARPS_PER_BLOCK
# Blocks that a multiprocessor holds at a time, by the number of sweeps of a pass: the kernel's registers allow no more.
RESIDENT = {1: 5, 2: 4, 4: 3, 6: 2, 8: 2}
# The highest chunk, in rows, by the number of sweeps of a pass, as measured on an H200: the warps of higher ones read
# from places too far apart.  Longer passes have no limit: they share more rows with the chunk above.
HIGHEST_CHUNK = {1: 48, 2: 96}
# Blocks by which a launch stays below what the device holds, so that the norm's AllReduce finds room beside it.
SPARE_BLOCKS = 2
START_ROWS = 4.0  # what it costs a chunk to begin, in rows, about
WAVES = 8  # how many numbers of waves ``chunk_rows`` tries
ROWS_AT_A_TIME = 3  # of the march's loop


@dataclass(frozen=True)
class Band:
    """The rows that a launch sweeps, and the number of its blocks."""

    rows: Rows
    blocks: int


def warps_across(problem: Problem) -> int:
    """Warps that cover all columns of a row."""
    return -(-problem.nx // segment_columns(problem.dtype))


def blocks_across(team: Any, problem: Problem) -> int:
    """Blocks that cover all columns of a chunk of rows."""
    return -(-warps_across(problem) // WARPS_PER_BLOCK) if team.backend == "cuda" else 1


def capacity(team: Any, sweeps: int) -> int:
    """Blocks that the device runs at a time, of a kernel that does ``sweeps`` sweeps a pass."""
    return multiprocessors(team) * RESIDENT[sweeps] - SPARE_BLOCKS if team.backend == "cuda" else 1


def inner(team: Any, problem: Problem, first_row: int, stop_row: int, sweeps: int) -> Band:
    """All of the rows, in chunks of equal height that fill the device a whole number of times."""
    rows = stop_row - first_row
    if team.backend != "cuda":
        return Band(Rows(first_row, stop_row, rows, rows), 1)
    across = warps_across(problem)
    chunk = chunk_rows(rows, across, WARPS_PER_BLOCK * capacity(team, sweeps), sweeps)
    warps = across * -(-rows // chunk)
    return Band(Rows(first_row, stop_row, chunk, chunk), -(-warps // WARPS_PER_BLOCK))


def edges(team: Any, problem: Problem, rows: int, depth: int) -> Band:
    """The first and the last ``depth`` of ``rows`` rows that begin at row ``depth``; all, if the two would touch."""
    if rows <= 2 * depth:
        return Band(Rows(depth, depth + rows, rows, rows), blocks_across(team, problem))
    return Band(Rows(depth, depth + rows, rows - depth, depth), 2 * blocks_across(team, problem))


def chunk_rows(rows: int, across: int, warps: int, sweeps: int) -> int:
    """The height in rows of the chunks that take the least time.

    across: warps side by side;  warps: that the device runs at a time
    A chunk costs its rows, as many again as there are sweeps (which it shares with the chunk above), and START_ROWS.  A
    wave of warps that does not fill the device costs as much as one that does.
    """
    highest = min(HIGHEST_CHUNK.get(sweeps, rows), MAX_CHUNK_ROWS // 4)  # rounding may more than double a chunk
    fewest = max(1, -(-rows * across // (highest * warps)))
    best = (float("inf"), rows)
    for waves in range(fewest, fewest + WAVES):
        chunks = max(1, waves * warps // across)
        chunk = ROWS_AT_A_TIME * -(-rows // (ROWS_AT_A_TIME * chunks))
        full = -(-across * -(-rows // chunk) // warps)
        best = min(best, (full * (chunk + sweeps + START_ROWS), chunk))
    return best[1]
