"""Algorithms whose plans have other blocks, pieces and threads than they choose themselves."""

import dataclasses
import itertools
from collections.abc import Iterator, Sequence

from ..kernels.algorithm import VECTOR_ELEMS, Algorithm, Limits, Place, Plan

HUGE_ELEMS = 1 << 50  # a plan for this count has the largest pieces that its slots hold


def with_plan(row: Algorithm, blocks: int, piece_bytes: int, threads: int) -> Algorithm:
    """The row with a plan of these blocks, bytes of a piece, and threads of a block; 0 keeps the value of its own plan.

    Blocks are bounded by the limits of a launch, and pieces by the size of a slot, so every plan is safe.
    """

    def plan(count: int, item_bytes: int, acc_bytes: int, place: Place, limits: Limits) -> Plan:
        own = row.plan(count, item_bytes, acc_bytes, place, limits)
        largest = row.plan(HUGE_ELEMS, item_bytes, acc_bytes, place, limits).piece_elems
        n_blocks = min(limits.max_blocks, blocks or own.blocks)
        piece = piece_bytes // item_bytes if piece_bytes else -(-own.blocks * own.piece_elems // n_blocks)
        piece = -(-max(1, piece) // VECTOR_ELEMS) * VECTOR_ELEMS
        return Plan(n_blocks, min(piece, largest), threads or own.threads)

    return dataclasses.replace(row, plan=plan)


def combinations(
    rows: Sequence[Algorithm], blocks: Sequence[int], piece_bytes: Sequence[int], threads: Sequence[int]
) -> Iterator[tuple[str, Algorithm]]:
    """(name, row) of every combination; an empty list keeps the value of each row's own plan."""
    for row, b, p, t in itertools.product(rows, blocks or [0], piece_bytes or [0], threads or [0]):
        words = [f"{key}={value}" for key, value in (("b", b), ("p", p), ("t", t)) if value]
        yield " ".join([row.name, *words]), with_plan(row, b, p, t)
