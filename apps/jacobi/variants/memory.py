"""How much memory a solve takes on each PE."""

from ..grid.problem import Problem
from . import row_of

LIBRARY_HEAP_BYTES = 256 << 20  # for the library, beside fields that are too large for the default heap
DEFAULT_HEAP_FIELD_BYTES = 64 << 20  # the largest fields that the default heap is used for


def field_bytes(problem: Problem, n_pes: int, variant: str) -> int:
    """Symmetric memory of a PE's fields with their halos, in bytes: what the largest slab needs."""
    return row_of(problem, variant).symmetric_bytes(problem, n_pes)


def heap_bytes(problem: Problem, n_pes: int, variant: str) -> int | None:
    """Size of a PE's symmetric heap; None, which is the library's default, for small fields."""
    need = field_bytes(problem, n_pes, variant)
    return None if need <= DEFAULT_HEAP_FIELD_BYTES else need + LIBRARY_HEAP_BYTES
