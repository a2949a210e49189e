"""How much memory a solve takes on a PE."""

from ..grid.problem import Problem
from . import row_of

LIBRARY_HEAP_BYTES = 256 << 20  # beside the fields, when they are too large for the default heap
DEFAULT_HEAP_HOLDS_BYTES = 64 << 20


def field_bytes(problem: Problem, n_pes: int, variant: str) -> int:
    """Symmetric memory of a PE's fields, halos included: as much as the largest slab needs."""
    return row_of(problem, variant).symmetric_bytes(problem, n_pes)


def heap_bytes(problem: Problem, n_pes: int, variant: str) -> int | None:
    """Symmetric heap of a PE; None, the library's default, for small fields."""
    need = field_bytes(problem, n_pes, variant)
    return None if need <= DEFAULT_HEAP_HOLDS_BYTES else need + LIBRARY_HEAP_BYTES
