"""Algorithms with other blocks, pieces and threads than their plans choose."""

import dataclasses
import itertools
from collections.abc import Iterator, Sequence

from ..kernels.algorithm import MAX_THREADS, VECTOR_ELEMS, WARP_THREADS, Algorithm, Limits, Place, Plan

HUGE_ELEMS = 1 << 50  # a plan for so many elements uses the largest pieces that its slots hold


def reshaped(row: Algorithm, blocks: int, piece_bytes: int, threads: int) -> Algorithm:
    """The row with a plan of so many blocks, pieces and threads; 0 keeps what the row's own plan says.

    Blocks are cut to what a launch may have and pieces to what a slot holds, so every shape is safe.
    """

    def plan(count: int, item_bytes: int, acc_bytes: int, place: Place, limits: Limits) -> Plan:
        own = row.plan(count, item_bytes, acc_bytes, place, limits)
        largest = row.plan(HUGE_ELEMS, item_bytes, acc_bytes, place, limits).piece_elems
        n_blocks = min(limits.max_blocks, blocks or own.blocks)
        piece = piece_bytes // item_bytes if piece_bytes else -(-own.blocks * own.piece_elems // n_blocks)
        piece = -(-max(1, piece) // VECTOR_ELEMS) * VECTOR_ELEMS
        return Plan(n_blocks, min(piece, largest), threads or own.threads)

    return dataclasses.replace(row, plan=plan)


def sweep(
    rows: Sequence[Algorithm], blocks: Sequence[int], piece_bytes: Sequence[int], threads: Sequence[int]
) -> Iterator[tuple[str, Algorithm]]:
    """(name, row) of every combination; an empty list keeps the row's own."""
    for row, b, p, t in itertools.product(rows, blocks or [0], piece_bytes or [0], threads or [0]):
        words = [f"{key}={value}" for key, value in (("b", b), ("p", p), ("t", t)) if value]
        yield " ".join([row.name, *words]), reshaped(row, b, p, t)


def check(threads: Sequence[int]) -> None:
    """Raise ValueError for blocks of threads that can't be launched."""
    for n in threads:
        if not 0 < n <= MAX_THREADS or n % WARP_THREADS:
            raise ValueError(f"--threads {n}: give multiples of {WARP_THREADS} up to {MAX_THREADS}")
