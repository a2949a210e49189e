"""The table of variants: the ways to sweep and exchange, from the simplest to the fastest.

Read first: ../textbook.py, then ../solver.py: its ``DeviceLoop`` is the base of three variants.
"""

from typing import Any, NamedTuple

from pennympi import Unsupported
from pennympi.kernels.in_kernel import MAX_TOTAL

from ..loop_kernels import Turn
from ..problem import Problem
from ..solver import DeviceLoop, Solver
from .chunks import MOST_DEPTH, Chunks
from .mpi import Mpi, MpiOverlap
from .nccl import Nccl, NcclOverlap

LIBRARY_HEAP_BYTES = 256 << 20  # for the library, beside fields that are too large for the default heap
DEFAULT_HEAP_FIELD_BYTES = 64 << 20  # the largest fields that the default heap is used for
PADDING_BYTES = 192  # of a row, at most


class Variant(NamedTuple):
    """sentence: what --help says;  make: the class: (team, problem, *given) -> Solver.  Collective"""

    sentence: str
    make: Any
    given: tuple[Any, ...] = ()


class Single(DeviceLoop):
    """One PE, with which the other variants are compared."""

    @classmethod
    def why_not(cls, team: Any) -> str:
        return "" if team.n_pes == 1 else f"it is for one PE, and there are {team.n_pes}"


class Nvshmem(DeviceLoop):
    """In C the barrier is nvshmemx_barrier_all_on_stream."""

    def sweep(self, stream: Any, turn: Turn) -> None:
        super().sweep(stream, turn)
        self.team.barrier(stream=stream)


DEFAULT = "nvshmem_overlap"
TABLE = {  # by what --variant takes
    "single": Variant("one PE alone", Single),
    "mpi": Variant("sweep, then MPI_Sendrecv of the edge rows", Mpi),
    "mpi_overlap": Variant("edge rows on a stream of their own, exchanged by MPI while the inner rows run", MpiOverlap),
    "nccl": Variant("grouped sends and receives after the sweep (GPUs)", Nccl),
    "nccl_overlap": Variant("edge rows and their exchange by NCCL beside the inner rows (GPUs)", NcclOverlap),
    "nvshmem": Variant("the sweep puts its edge rows, then a barrier", Nvshmem),
    "nvshmem_overlap": Variant("edge rows, puts and signals to the neighbours beside the inner rows", DeviceLoop),
    "blocked": Variant("several sweeps a pass over memory, by the library's plans of sweeps", Chunks, ("blocked",)),
    "resident": Variant(
        "all sweeps of a chunk in one launch, on the chip, by the library's plans", Chunks, ("resident",)
    ),
    "auto": Variant("the library's plans of sweeps, by the engine that is the fastest for the size", Chunks),
}


def make_solver(team: Any, problem: Problem, variant: str = DEFAULT) -> Solver:
    """A solver by a variant of the table.  Collective.

    Raises ValueError on every PE if there is no such variant, or if it cannot run here.
    """
    if variant not in TABLE:
        raise ValueError(f"there is no variant {variant!r}: choose one of {', '.join(TABLE)}")
    chosen = TABLE[variant]
    try:
        if reason := too_large(problem) or next((why for why in team.gather(chosen.make.why_not(team)) if why), ""):
            raise Unsupported(reason)
        return chosen.make(team, problem, *chosen.given)  # type: ignore[no-any-return]
    except Unsupported as error:
        raise ValueError(f"--variant {variant} cannot run here: {error}") from None


def too_large(problem: Problem) -> str:
    """Why the norm of this problem would not be exact, or ""."""
    points = (problem.ny - 2) * (problem.nx - 2)
    message = f"the norm of {points} points is exact for at most {MAX_TOTAL}: use a smaller --nx or --ny"
    return message if points > MAX_TOTAL else ""


def heap_bytes(problem: Problem, n_pes: int) -> int | None:
    """Size of a PE's symmetric heap; None, which is the library's default, for small fields."""
    rows = -(-(problem.ny - 2) // n_pes) + 2 * MOST_DEPTH + 2
    need = 2 * rows * (problem.nx * problem.item_bytes + PADDING_BYTES)
    return None if need <= DEFAULT_HEAP_FIELD_BYTES else need + LIBRARY_HEAP_BYTES
