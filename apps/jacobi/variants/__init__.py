"""The table of variants, the ways to sweep and exchange, from the simplest to the fastest.  Each variant is a file.

sentence: description of the variant, for --help
Variant:  (team, problem) -> Solver.  Collective

Read first: ../textbook.py, then nvshmem_overlap.py, the default.
"""

from typing import Any

from pennympi import Unsupported
from pennympi.kernels.in_kernel import MAX_TOTAL

from ..chunks import MOST_DEPTH
from ..problem import Problem
from ..solver import Solver
from . import auto, blocked, device, mpi, mpi_overlap, nccl, nccl_overlap, nvshmem, nvshmem_overlap, resident, single

LIBRARY_HEAP_BYTES = 256 << 20  # room for the library in a heap that is larger than the default
DEFAULT_HEAP_FIELD_BYTES = 64 << 20  # the most bytes of fields for which the default heap suffices
PADDING_BYTES = 192  # the most bytes of padding of a row
DEFAULT = "nvshmem_overlap"
TABLE = {
    "single": single,
    "mpi": mpi,
    "mpi_overlap": mpi_overlap,
    "nccl": nccl,
    "nccl_overlap": nccl_overlap,
    "nvshmem": nvshmem,
    "nvshmem_overlap": nvshmem_overlap,
    "device": device,
    "blocked": blocked,
    "resident": resident,
    "auto": auto,
}


def make_solver(team: Any, problem: Problem, variant: str = DEFAULT) -> Solver:
    """A solver by a variant of the table.  Collective.

    Raises ValueError on every PE if there is no such variant, or if it cannot run here.
    """
    if variant not in TABLE:
        raise ValueError(f"there is no variant {variant!r}: choose one of {', '.join(TABLE)}")
    chosen: Any = TABLE[variant].Variant  # type: ignore[attr-defined]
    try:
        if reason := too_large(problem) or next((why for why in team.gather(chosen.why_not(team)) if why), ""):
            raise Unsupported(reason)
        return chosen(team, problem)  # type: ignore[no-any-return]
    except Unsupported as error:
        raise ValueError(f"--variant {variant} cannot run here: {error}") from None


def too_large(problem: Problem) -> str:
    """The reason why the norm of a problem would not be exact, or ""."""
    points = (problem.ny - 2) * (problem.nx - 2)
    message = f"the norm of {points} points is exact for at most {MAX_TOTAL}: use a smaller --nx or --ny"
    return message if points > MAX_TOTAL else ""


def heap_bytes(problem: Problem, n_pes: int) -> int | None:
    """Size of a PE's symmetric heap; None, the library's default, for small fields."""
    need = two_fields_bytes(problem, n_pes)
    return None if need <= DEFAULT_HEAP_FIELD_BYTES else need + LIBRARY_HEAP_BYTES


def two_fields_bytes(problem: Problem, n_pes: int) -> int:
    """The most bytes of the two fields of a PE."""
    rows = -(-(problem.ny - 2) // n_pes) + 2 * MOST_DEPTH + 2
    return 2 * rows * (problem.nx * problem.item_bytes + PADDING_BYTES)
