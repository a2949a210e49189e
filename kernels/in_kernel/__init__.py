"""What a kernel of an application may call beside the primitives of ``kernels/block.py``."""

from ..halo.exchange import halo_put, halo_ready, halo_wait
from ..records import Halo
from .all_sum import GridBarrier, all_sum, grid_barrier, grid_barrier_words, last_grid_barrier, sums_at, words_at
from .counted import give_sums, take_sums
from .exact import (
    LIMIT,
    MAX_TOTAL,
    MAX_VALUES,
    WORDS,
    WORDS_BYTES,
    Bins,
    SumWords,
    add_to_bins,
    add_to_words,
    as_float,
    no_bins,
    read_sum,
)

__all__ = [
    "LIMIT",
    "MAX_TOTAL",
    "MAX_VALUES",
    "WORDS",
    "WORDS_BYTES",
    "Bins",
    "Halo",
    "GridBarrier",
    "SumWords",
    "add_to_bins",
    "add_to_words",
    "all_sum",
    "as_float",
    "give_sums",
    "halo_put",
    "halo_ready",
    "halo_wait",
    "last_grid_barrier",
    "grid_barrier",
    "grid_barrier_words",
    "no_bins",
    "read_sum",
    "sums_at",
    "take_sums",
    "words_at",
]
