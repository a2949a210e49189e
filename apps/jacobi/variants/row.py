"""A row of the table of variants.

Read first: steps.py.
"""

from dataclasses import dataclass
from typing import Any

from ..grid.fields import shape
from ..grid.problem import Problem
from ..norm import exact_sum
from .steps import Steps

LIBRARY_HEAP_BYTES = 256 << 20  # for the library, beside fields that are too large for the default heap
DEFAULT_HEAP_FIELD_BYTES = 64 << 20  # the largest fields that the default heap is used for


@dataclass(frozen=True)
class Row:
    """One variant.

    name:     what --variant takes;  sentence: what --help says
    make:     class of the variant: (team, problem, **settings) -> its steps.  Collective
    takes:    names of the settings that ``make`` takes
    """

    name: str
    sentence: str
    make: type[Steps]
    takes: tuple[str, ...] = ()

    def refuse(self, team: Any, problem: Problem) -> str:
        """Why the variant cannot solve this problem on this team; "" if it can."""
        return exact_sum.refuse(problem) or self.make.refuse(team)

    def heap_bytes(self, problem: Problem, n_pes: int) -> int | None:
        """Size of a PE's symmetric heap; None, which is the library's default, for small fields."""
        rows, columns = shape(problem, n_pes, self.make.depth)
        need = self.make.n_fields * rows * columns * problem.item_bytes
        return None if need <= DEFAULT_HEAP_FIELD_BYTES else need + LIBRARY_HEAP_BYTES
